// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens produced by the models.
#pragma once
#include <cstdint>

namespace transom::tokenizer {

/// A token and the byte range [begin, end) in the original text that it
/// represents.
struct Token {
  uint32_t id;
  uint32_t begin;
  uint32_t end;
  /// Spaces at both ends of an added token, which may include adjacent ones
  /// from the text; for model tokens they are counted in the token text.
  uint32_t leadingSpaces = 0;
  uint32_t trailingSpaces = 0;
  bool added = false;
  uint32_t word = 0; ///< index of the word that contains it
};

} // namespace transom::tokenizer
