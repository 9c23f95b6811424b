// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words as counted by models for named entities: the matches for Python's
// `\w+(?:[-_]\w+)*|\S`.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace transom {

/// A byte range [begin, end) in a text.
struct TextWord {
  size_t begin, end;
};

/// Returns the words in valid UTF-8: letters, digits and underscores, with
/// hyphens between them; any other character except a space is a separate word.
std::vector<TextWord> splitWords(std::string_view text);

/// Python's `\w`: a letter, a number or the underscore, but not a mark.
bool isWordCharacter(char32_t code);

} // namespace transom
