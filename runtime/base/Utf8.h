// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UTF-8: validation, decoding, encoding, and strings that are safe to show in
// one line of an error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace transom::utf8 {

/// The result of `decode` for a byte that starts no valid sequence.
inline constexpr char32_t replacement = 0xFFFD;

/// Offset of the first byte that starts no valid sequence, or `npos`.
/// Overlong forms, surrogates and code points over U+10FFFF are invalid.
size_t firstInvalid(std::string_view text);

/// True when all of `text` is valid UTF-8.
inline bool isValid(std::string_view text) {
  return firstInvalid(text) == std::string_view::npos;
}

/// Decodes the code point at `position` and moves `position` past it. An
/// invalid byte gives U+FFFD and moves by one. `position` is inside `text`.
char32_t decode(std::string_view text, size_t &position);

/// Like `decode`; `valid` tells whether it was a valid sequence (a genuine
/// U+FFFD is valid).
char32_t decode(std::string_view text, size_t &position, bool &valid);

/// Appends `codePoint` as UTF-8, or U+FFFD if it is not a scalar value.
void append(std::string &out, char32_t codePoint);

/// Counts code points; an invalid byte counts as one.
size_t length(std::string_view text);

/// `text` for an error message: control characters, line separators and invalid
/// bytes are escaped as `\n`, `\u2028` or `\xff`, and the result is truncated
/// with `...` at about `limit` bytes.
std::string printable(std::string_view text, size_t limit = 120);

} // namespace transom::utf8
