// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of an encoder-decoder.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// Builds three entries: `encode` (of a classifier `encoder`), the encoder's
/// last hidden states; `source`, which stores the keys and values of these
/// states for cross attention; `step` of the decoder. Both contexts share an
/// emitter, whose errors these are.
void buildEncoderDecoder(BlockContext &encoder, BlockContext &decoder);

} // namespace transom
