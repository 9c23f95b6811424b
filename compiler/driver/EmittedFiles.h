// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files for the last stage: one, or one per instruction set; without an
// output file, the report contains the text.
#pragma once
#include "compiler/driver/Compile.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/base/OutputFile.h"
#include <map>

namespace transom {

class EmittedFiles {
public:
  EmittedFiles(OutputSet &outputs, const CompileOptions &options,
               CompileReport &report)
      : outputs(outputs), options(options), report(report) {}

  /// Creates the files, so that one that cannot be written is rejected before
  /// the stages run.
  Result<void> open(const std::vector<const InstructionSet *> &isas);
  /// Writes a stage as text; for code, `isa` is the instruction set.
  Result<void> write(const std::string &text, const std::string &isa);
  /// Writes the listing that line tables refer to. Devices and pipes get none,
  /// since they have no folder for it.
  Result<void> writeListing(const std::string &text);
  /// Returns the shared object file.
  OutputFile &getArtifact() { return *files.at(std::string()); }

private:
  Result<void> openFile(const std::string &isa, const std::string &path);

  OutputSet &outputs;
  const CompileOptions &options;
  CompileReport &report;
  /// By instruction set; the key "" is a shared file.
  std::map<std::string, OutputFile *> files;
  bool isShared = true;     ///< a single file is written
  bool hasHeadings = false; ///< before each code in a shared file
};

} // namespace transom
