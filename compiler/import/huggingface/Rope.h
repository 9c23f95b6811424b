// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope (Su et al. 2021) as specified by a config: frequencies with their
// scaling, the factor for cosines and sines, and the max position.
#pragma once
#include "compiler/import/huggingface/ModelFamily.h"
#include <cstdint>
#include <vector>

namespace transom {

/// Rope for a model, or for its layers of one type.
struct Rope {
  /// Angle of pair i at position 1; none = the model has no positions.
  std::vector<double> frequencies;
  double factor = 1;   ///< factor for cosines and sines
  int64_t context = 0; ///< positions are less than this
};

/// Config keys for a rope's base.
struct RopeKeys {
  ConfigKey theta;
  double absentTheta = 10000;
  /// The key in `rope_parameters` with this rope's values; empty if one rope is
  /// used for all layers.
  std::string layerType;
  bool takesScaling = true; ///< `rope_scaling` applies to it
};

/// Sizes that a rope depends on.
struct RopeSizes {
  int64_t headDim;
  int64_t positions; ///< positions used in training
};

/// Reads `rope_parameters` or `rope_scaling` and the related keys. Errors are
/// recorded in the config: malformed or contradictory values, and unsupported
/// types.
Rope readRope(Config &config, const ModelFamily &family, const RopeKeys &keys,
              const RopeSizes &sizes);

} // namespace transom
