// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder entry.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// Builds the entry `step`: embeddings for new tokens, layers with a cache
/// each, and the head for tokens whose logits are requested. Errors are
/// recorded in the emitter.
void buildDecoder(BlockContext &context, CrossAttentionBlock *cross = nullptr);

/// Sets the rule by which the current entry, `step`, selects the token for a
/// head with labels: `ManifestDecoder::classRow`.
void annotateClassRow(BlockContext &context, const char *rule);

} // namespace transom
