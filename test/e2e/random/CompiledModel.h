// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An artifact through the public C API, with evaluator tensors.
#pragma once
#include "compiler/evaluator/Evaluator.h"
#include "runtime/include/transom/transom.h"
#include <string>

namespace transom::testing {

/// A loaded artifact and one session.
class CompiledModel {
public:
  CompiledModel() = default;
  CompiledModel(const CompiledModel &) = delete;
  ~CompiledModel();

  /// Returns true if this host supports an instruction set.
  static bool runsHere(const std::string &isa);

  /// Loads the artifact with one instruction set; the error, or empty.
  std::string load(const std::string &path, const std::string &isa,
                   unsigned threads);

  /// Runs an entry; results have the names and sizes in `like`. Result buffers
  /// initially hold NaN.
  Result<std::vector<NamedTensor>> run(const std::string &entry,
                                       llvm::ArrayRef<NamedTensor> inputs,
                                       llvm::ArrayRef<NamedTensor> like);

private:
  transom_model *model = nullptr;
  transom_session *session = nullptr;
};

} // namespace transom::testing
