// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aligns words in a translation with source words, using cross-attention
// weights.
#pragma once
#include "tools/commands/attention/AttentionReport.h"
#include <optional>

namespace transom::tools {

/// A byte range in a text; empty for a token that covers no bytes.
struct TextSpan {
  size_t begin = 0, end = 0;
};

/// The words in a text, and the word that each token belongs to.
struct TokenWords {
  std::vector<std::string> words;
  /// The word index for each token; nullopt for special tokens and white space.
  std::vector<std::optional<size_t>> ofTokens;
};

/// Splits a text at white space. A token belongs to the word that contains its
/// first byte other than white space.
TokenWords findWords(const std::string &text,
                     const std::vector<TextSpan> &tokens);

/// Aligns target words with source words. `cross` has a query for each target
/// token, namely the one that predicts it, and a key for each source token. A
/// target token is aligned with the source token that has the largest mean
/// weight over all layers and heads in `cross`, among tokens that belong to a
/// word; ties select the first one. A word pair is in the result if any of its
/// tokens are aligned. Pairs are sorted by source word, then by target word.
Alignment alignWords(const AttentionGroup &cross, const TokenWords &source,
                     const TokenWords &target);

} // namespace transom::tools
