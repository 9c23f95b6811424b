// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which word of a source each word of its translation comes from, by the
// weights of cross attention.
#pragma once
#include "tools/commands/attention/AttentionReport.h"
#include <optional>

namespace transom::tools {

/// Bytes of a text; empty for a token that covers none.
struct TextSpan {
  size_t begin = 0, end = 0;
};

/// The words of a text, and which of them each of its tokens belongs to.
struct TokenWords {
  std::vector<std::string> words;
  /// The index of a token's word; none for a special token or white space.
  std::vector<std::optional<size_t>> ofTokens;
};

/// Words are what is between white space. A token belongs to the word that has
/// its first byte that is not white space.
TokenWords findWords(const std::string &text,
                     const std::vector<TextSpan> &tokens);

/// Aligns the words of a target with those of its source. `cross` has a query
/// for each token of the target, the one that predicts it, and a key for each
/// token of the source. A target token comes from the source token with the
/// largest mean weight of all layers and heads in `cross`, the first of equal
/// ones, among those that belong to a word. A pair of words is in the result if
/// a token of one comes from a token of the other; pairs are in the order of
/// source words, then of target words.
Alignment alignWords(const AttentionGroup &cross, const TokenWords &source,
                     const TokenWords &target);

} // namespace transom::tools
