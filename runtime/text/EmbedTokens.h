// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One vector for each token: for late interaction, or layers' hidden states.
#pragma once
#include "runtime/text/Text.h"
#include <functional>

namespace transom {

/// The tokens with vectors in one text.
struct TokenVectors {
  std::vector<int64_t> ids;
  std::vector<float> vectors; ///< [layers, tokens, width]
  size_t width = 0;
  bool isCut = false; ///< the text exceeds the model's maximum
};

/// Receives a text's vectors and its index.
using TakeTokenVectors = std::function<void(size_t text, TokenVectors vectors)>;

/// Implements transom_session_embed_tokens_batch().
Result<void> embedTokens(Session &session, const transom_text *texts,
                         size_t count, const transom_embed_options &options,
                         const std::vector<int64_t> &layers,
                         const TakeTokenVectors &take);

/// Implements transom_session_embed_tokens().
Result<TokenVectors> embedTokens(Session &session, const transom_text &text,
                                 const transom_embed_options &options);

} // namespace transom
