// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry of a decoder.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// Builds the entry `step`: embeddings of the new tokens, layers over a cache
/// each, the head on the tokens whose logits are asked for. Errors are the
/// emitter's.
void buildDecoder(BlockContext &context, CrossAttentionBlock *cross = nullptr);

/// Sets the rule by which the head with labels of the current entry, `step`,
/// finds its token: `ManifestDecoder::classRow`.
void annotateClassRow(BlockContext &context, const char *rule);

} // namespace transom
