// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code size statistics for an object file.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>

namespace transom {

/// Counts for one object file.
struct CodeSize {
  uint64_t phases = 0;  ///< functions that the runtime calls
  uint64_t kernels = 0; ///< micro-kernels
  uint64_t bytes = 0;   ///< phases and micro-kernels
};

/// Counts the functions in an ELF object file by their names.
Result<CodeSize> getCodeSize(const std::string &object);

} // namespace transom
