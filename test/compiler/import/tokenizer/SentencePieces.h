// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing SentencePiece's model files for tests.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

namespace transom::test {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

/// A number field.
inline std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}

/// A string or message field.
inline std::string bytes(uint32_t field, const std::string &value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}

/// A piece in the file; type 1 is a normal one.
inline std::string piece(const std::string &text, float score,
                         uint32_t type = 1) {
  std::string bits(4, '\0');
  std::memcpy(bits.data(), &score, 4);
  return bytes(1, bytes(1, text) + varint(2 << 3 | 5) + bits +
                      (type == 1 ? "" : number(3, type)));
}

} // namespace transom::test
