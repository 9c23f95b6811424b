// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that Python's json module writes and reads but JSON does not have:
// NaN, Infinity, -Infinity, and literals outside the double range.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom::detail {

/// One such number and its offset.
struct PythonNumber {
  uint32_t offset;
  double value;
};

/// Finds these numbers outside strings, in order, and replaces each in a copy
/// of `bytes` by a JSON number with the same length. `copy` stays empty without
/// any.
std::vector<PythonNumber> replacePythonNumbers(std::string_view bytes,
                                               std::string &copy);

} // namespace transom::detail
