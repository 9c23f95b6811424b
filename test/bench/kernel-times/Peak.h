// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The peak multiply-add rate on one thread, in windows so short that another
// program on the core disturbs few.
#pragma once
#include <string>

namespace transom::test {

/// Operations per second (a multiply-add is two) in the best window among many
/// with some 20 microseconds; `isa` and `dtype` as in artifacts. Uses only
/// instructions in that instruction set: dtype bf16 returns the f32 peak if
/// there are no bf16 instructions.
double peakFlops(const std::string &isa, const std::string &dtype);

} // namespace transom::test
