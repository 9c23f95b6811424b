// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of the last stage of a compile: one, or one for each instruction
// set; without an output file the text of the report.
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

  /// Begins the files, so that a file that cannot be written is refused before
  /// the stages run.
  Result<void> open(const std::vector<const InstructionSet *> &isas);
  /// Writes the text of a stage; `isa` is the instruction set of code.
  Result<void> write(const std::string &text, const std::string &isa);
  /// Writes the listing that line tables refer to. A device or pipe has no
  /// folder for it.
  Result<void> writeListing(const std::string &text);
  /// The file of the shared object.
  OutputFile &getArtifact() { return *files.at(std::string()); }

private:
  Result<void> openFile(const std::string &isa, const std::string &path);

  OutputSet &outputs;
  const CompileOptions &options;
  CompileReport &report;
  /// By instruction set; a file of all of them is under "".
  std::map<std::string, OutputFile *> files;
  bool isShared = true;     ///< there is one file
  bool hasHeadings = false; ///< of the codes that share it
};

} // namespace transom
