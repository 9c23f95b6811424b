// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder with what the stages of a compile made: a file each, or one for each
// instruction set, and `index.json`, which lists them with their hashes. A
// compile can go on from one of them.
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
  std::string isa; ///< of `llvm-ir`, `asm` and `obj`
  std::string file;
  std::string sha256;
};

/// What `index.json` says.
struct StageIndex {
  std::vector<StageFile> files;
  FileHashes inputs; ///< of the model
  unsigned optLevel = 2;
};

/// Writes the files of a folder. They replace older ones when `outputs` are
/// committed, the index after the others.
class StageWriter {
public:
  /// Makes the folder if it is missing, and begins the index.
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

/// A stage to go on from.
struct ResumedStage {
  Stage stage = Stage::Attn;
  std::string path; ///< of the file with the module
  /// Text of the stage's module; of the kern module for `llvm-ir` and `obj`.
  std::string module;
  /// LLVM IR or objects by instruction set.
  std::map<std::string, std::string> code;
  /// True unless the index has the hashes of all of this.
  bool edited = true;
  std::string sha256; ///< of the module and the code
  StageIndex index;   ///< empty without one

  /// Which code there is, as names in a list.
  std::string getIsas() const;
  /// `kern sha256:...`, what the manifest has of a stage that was not compiled
  /// from the files `inputs`; nothing for one that was.
  std::optional<std::string> describe(const FileHashes &inputs) const;
};

/// Reads FILE or FOLDER/STAGE. `Unavailable` for a missing file, `Rejected` for
/// one of another version or without a known stage.
Result<ResumedStage> readStage(const std::string &path);

/// `Rejected` for text with so many open brackets that a parser may not end.
Result<void> checkNesting(const std::string &text, const std::string &path);

} // namespace transom
