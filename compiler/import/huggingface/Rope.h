// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope (Su et al. 2021) as a config describes it: frequencies with their
// scaling, the factor on cosines and sines, and the largest position.
#pragma once
#include "compiler/import/huggingface/ModelFamily.h"
#include <cstdint>
#include <vector>

namespace transom {

/// The rope of a model, or of its layers of one type.
struct Rope {
  /// The angle of pair i at position 1; none = the model has no positions.
  std::vector<double> frequencies;
  double factor = 1;   ///< on cosines and sines
  int64_t context = 0; ///< positions are below this
};

/// Where a rope's base is found.
struct RopeKeys {
  ConfigKey theta;
  double absentTheta = 10000;
  /// The key of `rope_parameters` with this rope's values; empty where one rope
  /// serves all layers.
  std::string layerType;
  bool takesScaling = true; ///< `rope_scaling` holds for it
};

/// What a rope is for.
struct RopeSizes {
  int64_t headDim;
  int64_t positions; ///< the model was trained for
};

/// Reads `rope_parameters` or `rope_scaling` and the keys beside them. Errors
/// are the config's: malformed or contradictory values, and types that are not
/// supported.
Rope readRope(Config &config, const ModelFamily &family, const RopeKeys &keys,
              const RopeSizes &sizes);

} // namespace transom
