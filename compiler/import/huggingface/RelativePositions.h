// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads content-based relative positions (DeBERTa) and the convolution over the
// embedding from a config.
#pragma once
#include "compiler/import/huggingface/ModelConfig.h"

namespace transom {

/// Fills in `relativePositions` in a model whose sizes are set; `positions` is
/// the config's position count. Errors are recorded in the config.
void readRelativePositions(Config &config, const ModelFamily &family,
                           int64_t positions, ModelConfig &model);

/// Fills in `convolution`.
void readConvolution(Config &config, const ModelFamily &family,
                     ModelConfig &model);

} // namespace transom
