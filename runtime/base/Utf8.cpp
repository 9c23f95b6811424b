// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UTF-8 by the table for well-formed byte sequences (Unicode, table 3-7).
#include "runtime/base/Utf8.h"
#include <cstring>

namespace transom::utf8 {
namespace {

/// Length of the valid sequence that starts at `p`, or 0.
unsigned sequenceLength(const unsigned char *p, size_t left) {
  unsigned char lead = p[0];
  if (lead < 0x80)
    return 1;
  unsigned count = lead < 0xC2   ? 0
                   : lead < 0xE0 ? 2
                   : lead < 0xF0 ? 3
                   : lead < 0xF5 ? 4
                                 : 0;
  if (count == 0 || left < count)
    return 0;
  // The second byte's range excludes overlong forms, surrogates and code points
  // beyond U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (p[1] < low || p[1] > high)
    return 0;
  for (unsigned i = 2; i < count; ++i)
    if ((p[i] & 0xC0) != 0x80)
      return 0;
  return count;
}

void appendEscaped(std::string &out, char kind, uint32_t number, int digits) {
  static const char hex[] = "0123456789abcdef";
  out += '\\';
  out += kind;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += hex[(number >> shift) & 15];
}

} // namespace

size_t firstInvalid(std::string_view text) {
  auto *p = reinterpret_cast<const unsigned char *>(text.data());
  size_t i = 0, size = text.size();
  while (i < size) {
    if (size - i >= 8) {
      uint64_t word;
      std::memcpy(&word, p + i, 8);
      if ((word & 0x8080808080808080u) == 0) {
        i += 8;
        continue;
      }
    }
    unsigned count = sequenceLength(p + i, size - i);
    if (count == 0)
      return i;
    i += count;
  }
  return std::string_view::npos;
}

char32_t decode(std::string_view text, size_t &position, bool &valid) {
  auto *p = reinterpret_cast<const unsigned char *>(text.data()) + position;
  unsigned count = sequenceLength(p, text.size() - position);
  valid = count != 0;
  if (count == 0) {
    ++position;
    return replacement;
  }
  position += count;
  if (count == 1)
    return p[0];
  char32_t codePoint = p[0] & (0xFF >> (count + 1));
  for (unsigned i = 1; i < count; ++i)
    codePoint = codePoint << 6 | (p[i] & 0x3F);
  return codePoint;
}

char32_t decode(std::string_view text, size_t &position) {
  bool valid;
  return decode(text, position, valid);
}

void append(std::string &out, char32_t codePoint) {
  if (codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint < 0xE000))
    codePoint = replacement;
  auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((codePoint >> shift) & 0x3F));
  };
  if (codePoint < 0x80) {
    out += static_cast<char>(codePoint);
  } else if (codePoint < 0x800) {
    out += static_cast<char>(0xC0 | codePoint >> 6);
    tail(0);
  } else if (codePoint < 0x10000) {
    out += static_cast<char>(0xE0 | codePoint >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | codePoint >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

size_t length(std::string_view text) {
  size_t count = 0;
  for (size_t position = 0; position < text.size(); ++count)
    decode(text, position);
  return count;
}

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  size_t position = 0;
  while (position < text.size()) {
    if (out.size() >= limit)
      return out + "...";
    // Escape invalid bytes and characters that would break or reorder the line.
    size_t begin = position;
    bool valid;
    char32_t c = decode(text, position, valid);
    if (!valid)
      appendEscaped(out, 'x', static_cast<unsigned char>(text[begin]), 2);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c < 0x20 || (c >= 0x7F && c < 0xA0))
      appendEscaped(out, 'x', c, 2);
    else if ((c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
             (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF)
      appendEscaped(out, 'u', c, 4); // invisible, or reorders the line
    else
      out += text.substr(begin, position - begin);
  }
  return out;
}

} // namespace transom::utf8
