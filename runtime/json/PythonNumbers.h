// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers that Python's json module writes and reads, and JSON does not
// have: NaN, Infinity, -Infinity, and literals over the range of a double.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom::detail {

/// One such number and the offset of its first byte.
struct PythonNumber {
  uint32_t offset;
  double value;
};

/// Finds these numbers outside of strings, in order, and replaces each in a
/// copy of `bytes` by a JSON number of the same length. `copy` stays empty
/// without any.
std::vector<PythonNumber> replacePythonNumbers(std::string_view bytes,
                                               std::string &copy);

} // namespace transom::detail
