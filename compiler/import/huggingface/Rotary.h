// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary positions as a config says them: frequencies with their scaling, the
// factor on cosines and sines, and how far positions go.
#pragma once
#include "compiler/import/huggingface/DecoderFamilies.h"
#include <cstdint>
#include <vector>

namespace transom {

/// Rotary positions of a model.
struct Rotary {
  /// The angle of pair i at position 1; none = the model has no positions.
  std::vector<double> frequencies;
  double factor = 1;   ///< on cosines and sines
  int64_t context = 0; ///< positions are below this
};

/// Reads `rope_parameters` or `rope_scaling` and the keys beside them, for
/// heads of `headDim` numbers and a model that was trained for `positions`.
/// Errors are the config's: malformed or contradictory values, and types that
/// are not built.
Rotary readRotary(Config &config, const DecoderFamily &family, int64_t headDim,
                  int64_t positions);

} // namespace transom
