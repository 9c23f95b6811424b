// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What embeddings of texts and of tokens share.
#pragma once
#include "runtime/text/Text.h"
#include <string>

namespace transom {

/// What of a model embeds the tokens of texts.
Result<const Model::TextUse *> getTokenEmbedding(const Model &model);

/// The prompt that the options name or give, or the model's default one.
Result<std::string> getPrompt(const Model &model,
                              const transom_embed_options &options);

} // namespace transom
