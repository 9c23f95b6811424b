// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the layers of one model differ: which of them have a window, and which
// have rope.
#pragma once
#include "compiler/import/huggingface/ModelConfig.h"

namespace transom {

/// Sets window and rope of each layer of `model`, whose other fields are set.
/// Errors are the config's.
void readLayerPattern(Config &config, const ModelFamily &family,
                      ModelConfig &model);

} // namespace transom
