// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder with the stage output of a compile: one file per stage, or per stage
// and instruction set, and `index.json`, which lists them with their hashes. A
// compile can resume from any of them.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "compiler/stages/Hashes.h"
#include "runtime/base/OutputFile.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// One entry of `index.json`.
struct StageFile {
  Stage stage = Stage::Attn;
  std::string isa; ///< for `llvm-ir`, `asm` and `obj`
  std::string file;
  std::string sha256;
};

/// The contents of `index.json`.
struct StageIndex {
  std::vector<StageFile> files;
  FileHashes inputs; ///< the model's files
  unsigned optLevel = 2;
};

/// Writes the files in a folder. They replace older files when `outputs` are
/// committed, the index last.
class StageWriter {
public:
  /// Creates the folder if it is missing, and begins the index.
  static Result<StageWriter> create(const std::string &folder,
                                    OutputSet &outputs);
  /// Writes a file, `3-kern.mlir` or `5-obj.avx2.o`.
  Result<void> add(Stage stage, const std::string &isa,
                   const std::string &contents);
  /// Writes `index.json`.
  Result<void> finish(const FileHashes &inputs, const CompileOptions &options);

private:
  std::string folder;
  OutputSet *outputs = nullptr;
  OutputFile *index = nullptr;
  std::vector<StageFile> files;
};

/// A stage to resume from.
struct ResumedStage {
  Stage stage = Stage::Attn;
  std::string path; ///< the file with the module
  /// The stage's module as text; for `llvm-ir` and `obj` the kern module.
  std::string module;
  /// LLVM IR or objects by instruction set.
  std::map<std::string, std::string> code;
  /// False if all hashes match the index.
  bool edited = true;
  std::string sha256; ///< over the module and the code
  StageIndex index;   ///< empty without one

  /// Returns the instruction sets with code, as a list of names.
  std::string getIsas() const;
  /// Returns `kern sha256:...`, the manifest entry for a stage that was not
  /// compiled from the files `inputs`; nullopt if it was.
  std::optional<std::string> describe(const FileHashes &inputs) const;
};

/// Reads FILE or FOLDER/STAGE. Errors: `Unavailable` for a missing file,
/// `Rejected` for another version or an unknown stage.
Result<ResumedStage> readStage(const std::string &path);

/// `Rejected` for text nested so deeply that a parser may overflow its stack.
Result<void> checkNesting(const std::string &text, const std::string &path);

} // namespace transom
