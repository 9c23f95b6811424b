// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Characters that represent bytes in a byte-level BPE vocabulary (Radford et
// al., 2019, section 2.2): a printable Latin-1 byte represents itself, the
// other 68 are U+0100 and following, in order.
#pragma once
#include <cstdint>

namespace transom::tokenizer {

/// Printable in Latin-1: not a control, space, no-break space or soft hyphen.
constexpr bool isPrintableByte(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) ||
         (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

/// Tables for both directions.
struct ByteCharacters {
  char32_t ofByte[256] = {};
  int16_t getByte[0x144] = {}; ///< -1: represents no byte

  constexpr ByteCharacters() {
    for (int16_t &byte : getByte)
      byte = -1;
    char32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      ofByte[byte] = isPrintableByte(byte) ? byte : next++;
      getByte[ofByte[byte]] = static_cast<int16_t>(byte);
    }
  }
};
inline constexpr ByteCharacters byteCharacters;

/// Returns the character for a byte.
constexpr char32_t characterOfByte(uint8_t byte) {
  return byteCharacters.ofByte[byte];
}
/// Returns the byte for a character, or -1.
constexpr int byteOfCharacter(char32_t code) {
  return code < 0x144 ? byteCharacters.getByte[code] : -1;
}

} // namespace transom::tokenizer
