// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of a text as models for named entities count them: the matches of
// Python's `\w+(?:[-_]\w+)*|\S`.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace transom {

/// Bytes [begin, end) of a text.
struct TextWord {
  size_t begin, end;
};

/// The words of valid UTF-8: letters, digits and underscores, with hyphens
/// between them; any other character that is not a space is one by itself.
std::vector<TextWord> splitWords(std::string_view text);

/// `\w` of Python: a letter, a number or the underscore, no mark.
bool isWordCharacter(char32_t code);

} // namespace transom
