// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differences between the layers of a model: windows and rope.
#pragma once
#include "compiler/import/huggingface/ModelConfig.h"

namespace transom {

/// Sets window and rope for each layer in `model`, whose other fields are set.
/// Errors are recorded in the config.
void readLayerPattern(Config &config, const ModelFamily &family,
                      ModelConfig &model);

} // namespace transom
