// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what a config says of relative positions with content (DeBERTa), and of
// the convolution over the embedding.
#pragma once
#include "compiler/import/huggingface/ModelConfig.h"

namespace transom {

/// Fills in `relativePositions` of a model whose sizes are read; `positions` is
/// the number of positions of the config. Errors are the config's.
void readRelativePositions(Config &config, const ModelFamily &family,
                           int64_t positions, ModelConfig &model);

/// Fills in `convolution`.
void readConvolution(Config &config, const ModelFamily &family,
                     ModelConfig &model);

} // namespace transom
