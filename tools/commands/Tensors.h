// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts tensors between safetensors files and the C API.
#pragma once
#include "compiler/safetensors/Safetensors.h"
#include "tools/commands/Models.h"

namespace transom::tools {

/// Converts a file type to the C API's type; NONE if it has no match.
transom_dtype publicType(DType type);
/// Converts a C API type to the file type.
DType fileType(transom_dtype type);

/// Tensors from a file as run inputs.
class InputTensors {
public:
  /// Maps a safetensors file; fails for a dtype that no argument has.
  static Result<InputTensors> read(const std::string &path);
  const std::vector<transom_tensor> &tensors() const { return views; }

private:
  std::unique_ptr<SafetensorsFile> file; // heap-allocated for a stable address
  std::vector<std::unique_ptr<char[]>> copies; // unaligned data
  std::vector<transom_tensor> views;
};

/// Creates a session that is just large enough for these inputs.
Result<SessionPtr> sessionFor(const transom_model *model,
                              const std::string &entry,
                              const std::vector<transom_tensor> &inputs,
                              unsigned threads);

/// Results of a run, with their own memory.
class OutputTensors {
public:
  /// Allocates all results for an entry on these inputs.
  Result<void> allocate(const transom_model *model,
                        const transom_session *session,
                        const std::string &entry,
                        const std::vector<transom_tensor> &inputs);
  std::vector<transom_tensor> &tensors() { return views; }
  /// Writes the results to a safetensors file and commits it.
  Result<void> write(OutputFile file) const;

private:
  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<transom_tensor> views;
};

/// Returns an entry's argument or result by index; fails after the last one.
Result<transom_argument_info>
getArgument(const transom_model *model, const std::string &entry, size_t index);
/// Returns the number of arguments and results of an entry.
Result<transom_entry_info> getEntry(const transom_model *model,
                                    const std::string &entry);

} // namespace transom::tools
