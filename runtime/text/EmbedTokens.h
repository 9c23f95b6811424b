// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector for each token of texts: for late interaction, or the hidden states
// of layers.
#pragma once
#include "runtime/text/Text.h"
#include <functional>

namespace transom {

/// The tokens of a text that have vectors.
struct TokenVectors {
  std::vector<int64_t> ids;
  std::vector<float> vectors; ///< [layers, tokens, width]
  size_t width = 0;
  bool isCut = false; ///< the text was longer than the model takes
};

/// Takes the vectors of a text by its number.
using TakeTokenVectors = std::function<void(size_t text, TokenVectors vectors)>;

/// As transom_session_embed_tokens_batch().
Result<void> embedTokens(Session &session, const transom_text *texts,
                         size_t count, const transom_embed_options &options,
                         const std::vector<int64_t> &layers,
                         const TakeTokenVectors &take);

/// As transom_session_embed_tokens().
Result<TokenVectors> embedTokens(Session &session, const transom_text &text,
                                 const transom_embed_options &options);

} // namespace transom
