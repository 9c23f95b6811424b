// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much code an object file holds.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>

namespace transom {

/// Counts of one object file.
struct CodeSize {
  uint64_t phases = 0;  ///< functions that the runtime calls
  uint64_t kernels = 0; ///< micro-kernels
  uint64_t bytes = 0;   ///< of both together
};

/// Counts the functions of an ELF object file by their names.
Result<CodeSize> getCodeSize(const std::string &object);

} // namespace transom
