// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by embeddings of texts and of tokens.
#pragma once
#include "runtime/text/Text.h"
#include <string>

namespace transom {

/// Returns the model's embedding entry for tokens.
Result<const Model::TextUse *> getTokenEmbedding(const Model &model);

/// Returns the prompt that the options specify, or the model's default one.
Result<std::string> getPrompt(const Model &model,
                              const transom_embed_options &options);

} // namespace transom
