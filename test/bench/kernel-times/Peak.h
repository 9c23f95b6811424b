// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The peak of multiply-adds of one thread, in windows so short that another
// program on the core disturbs few of them.
#pragma once
#include <string>

namespace transom::test {

/// Operations a second (a multiply-add is two) in the best of many windows of
/// some 20 microseconds; `isa` and `dtype` as artifacts spell them. Only
/// instructions of that instruction set are used: dtype bf16 is the peak of
/// f32 where there are no instructions for it.
double peakFlops(const std::string &isa, const std::string &dtype);

} // namespace transom::test
