// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoder entries.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// Builds three entries: `encode` (for classifiers `encoder`) returns the
/// encoder's last hidden states; `source` stores their keys and values for
/// cross attention; `step` is the decoder step. Both contexts share an emitter,
/// which records errors.
void buildEncoderDecoder(BlockContext &encoder, BlockContext &decoder);

} // namespace transom
