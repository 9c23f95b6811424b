// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry of an encoder.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"

namespace transom {

/// Builds the entry of an encoder: embeddings, layers, the results of the head,
/// zero at padding. Errors are the emitter's.
void buildEncoder(BlockContext &context, const std::vector<HeadResult> &results,
                  const std::string &name = "encode");

} // namespace transom
