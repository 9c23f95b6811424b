// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens that models make of words.
#pragma once
#include <cstdint>

namespace transom::tokenizer {

/// A token and the bytes [begin, end) of the original text it stands for.
struct Token {
  uint32_t id;
  uint32_t begin;
  uint32_t end;
  /// Spaces at both ends of an added token, which may have taken them from
  /// beside it; of the model's tokens, their texts tell.
  uint32_t leadingSpaces = 0;
  uint32_t trailingSpaces = 0;
  bool added = false;
  uint32_t word = 0; ///< which part of the text the model made it from
};

} // namespace transom::tokenizer
