// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector for each token of a text, for late interaction.
#pragma once
#include "runtime/text/Text.h"

namespace transom {

/// The tokens of a text that have vectors.
struct TokenVectors {
  std::vector<int64_t> ids;
  std::vector<float> vectors; ///< [tokens, width]
  bool isCut = false;         ///< the text was longer than the model takes
};

/// As transom_session_embed_tokens().
Result<TokenVectors> embedTokens(Session &session, const transom_text &text,
                                 const transom_embed_options &options);

} // namespace transom
