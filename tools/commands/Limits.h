// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the machine can do at most, measured: the yardstick of bench.
#pragma once
#include <string>

namespace transom::tools {

/// The machine's limits with so many threads.
struct MachineLimits {
  double flops = 0;     ///< f32 operations a second, multiply-add counts two
  double bandwidth = 0; ///< bytes a second read from memory
};

/// Measures them with the vectors of an instruction set (`avx2`, `avx512`);
/// takes some tenths of a second.
MachineLimits measureLimits(const std::string &isa, unsigned threads);

} // namespace transom::tools
