// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors between safetensors files and the C API.
#pragma once
#include "runtime/safetensors/Safetensors.h"
#include "tools/commands/Models.h"

namespace transom::tools {

/// The C API's type for a file's, NONE where it has none.
transom_dtype publicType(DType type);
/// The file's type for the C API's.
DType fileType(transom_dtype type);

/// The tensors of a file as inputs of a run.
class InputTensors {
public:
  /// Maps a safetensors file; an error for a dtype that no argument has.
  static Result<InputTensors> read(const std::string &path);
  const std::vector<transom_tensor> &tensors() const { return views; }

private:
  std::unique_ptr<SafetensorsFile> file;       // its address is kept
  std::vector<std::unique_ptr<char[]>> copies; // of data that is not aligned
  std::vector<transom_tensor> views;
};

/// A session that is just large enough for these inputs.
Result<SessionPtr> sessionFor(const transom_model *model,
                              const std::string &entry,
                              const std::vector<transom_tensor> &inputs,
                              unsigned threads);

/// The results of a run in memory of their own.
class OutputTensors {
public:
  /// Room for all results of an entry on these inputs.
  Result<void> allocate(const transom_model *model,
                        const transom_session *session,
                        const std::string &entry,
                        const std::vector<transom_tensor> &inputs);
  std::vector<transom_tensor> &tensors() { return views; }
  /// Writes them to a safetensors file and commits it.
  Result<void> write(OutputFile file) const;

private:
  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<transom_tensor> views;
};

/// The argument or result of an entry at an index; an error after the last.
Result<transom_argument_info>
getArgument(const transom_model *model, const std::string &entry, size_t index);
/// How many arguments and results an entry has.
Result<transom_entry_info> getEntry(const transom_model *model,
                                    const std::string &entry);

} // namespace transom::tools
