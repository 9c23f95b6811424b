// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One decoder as its config describes it: sizes and features read by a
// family's row, checked against each other.
#pragma once
#include "compiler/import/huggingface/Rotary.h"

namespace transom {

/// Where norms stand in a layer.
enum class NormPlace {
  Before, ///< x + f(norm(x))
  After   ///< norm(x + f(x))
};

/// What one layer has for itself.
struct DecoderLayer {
  int64_t window = 0; ///< 0 = all positions
  double scale = 1;   ///< of its scores
};

/// The numbers and features of one model.
struct DecoderModel {
  int64_t vocab = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0,
          intermediate = 0;
  int64_t embeddingWidth = 0; ///< of the word table
  int64_t positions = 0;      ///< rows of a learned table without its offset
  std::optional<int64_t> context; ///< a sequence is at most this long
  int64_t labels = 0;
  double epsilon = 0;
  std::optional<attn::ActivationKind> activation;
  std::vector<DecoderLayer> layers;
  Rotary rotary;
  std::vector<double> slopes; ///< ALiBi, one a head
  double attentionCap = 0, logitCap = 0;
  NormPlace norms = NormPlace::Before;
  bool finalNorm = true;
  bool normsHaveWeights = true;
  bool parallelResidual = false, residualFromNorm = false;
  bool qkvBias = false, attentionOutBias = false, mlpBias = false;
  bool tied = false; ///< the head's weight may be the word table
};

/// Reads a config by a family's row; errors are the config's.
DecoderModel readDecoder(Config &config, const DecoderFamily &family);

/// The slopes of ALiBi (Press et al. 2022, 3): for 2^k heads powers of
/// 2^(-8 / 2^k), for the others every second of the next power of two.
std::vector<double> alibiSlopes(int64_t heads);

} // namespace transom
