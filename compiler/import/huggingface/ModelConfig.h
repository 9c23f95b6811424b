// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One model as its config.json describes it: sizes and features, read by the
// family's entry and checked against each other.
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/PositionBias.h"
#include "compiler/import/huggingface/Rope.h"
#include "dialects/common/PositionBuckets.h"

namespace transom {

/// What one layer has for itself.
struct LayerConfig {
  int64_t module = 0, inner = 0; ///< of `FamilyModules::layer`
  int64_t window = 0;            ///< as of `attn.sdpa`; 0 = all positions
  double scale = 1;              ///< of its scores
  /// Which of the model's ropes; nothing: no rope.
  std::optional<size_t> rope = 0;
};

/// A bias of scores by the distance of key and query (T5, MPNet).
struct RelativeBias {
  int64_t entries = 0; ///< of the stored table; 0 = no such bias
  DistanceBuckets rule;
};

/// Disentangled attention (DeBERTa).
struct RelativePositions {
  PositionBuckets rule;    ///< of the table; 0 positions = no table
  bool normalized = false; ///< the table has a norm
  bool shared = false;     ///< positions are projected as tokens are
  /// Which products scores have beside that of query and key: query and
  /// position, key and position. They count where there is no table, too.
  bool toPosition = false, fromPosition = false;

  bool any() const { return rule.positions && (toPosition || fromPosition); }
  /// Products that scores are the sum of.
  int64_t getNumProducts() const { return 1 + toPosition + fromPosition; }
};

/// A convolution along the sequence.
struct Convolution {
  int64_t size = 0; ///< an odd number of columns; 0 = no convolution
  int64_t groups = 1;
  std::optional<Activation> activation;
};

/// The sizes and features of one model.
struct ModelConfig {
  int64_t vocab = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0,
          intermediate = 0;
  bool ownKvHeads = false;    ///< the config has their number
  bool ownHeadDim = false;    ///< it is not the hidden size / heads
  int64_t embeddingWidth = 0; ///< of the token embedding
  int64_t positions = 0;      ///< entries of a position table after its offset
  int64_t types = 0;          ///< token types; 0 where the family has none
  int64_t pad = 0;            ///< padding id, of `PositionIndex::NonpadRank`
  int64_t labels = 0;
  /// Of a head with labels after a decoder: the padding id, or with an encoder
  /// the end token, by which it finds the token that it reads.
  std::optional<int64_t> classToken;
  std::optional<int64_t> context; ///< a sequence is at most this long
  double epsilon = 0;
  std::optional<Activation> activation, headActivation;
  std::vector<LayerConfig> layers;
  std::vector<Rope> ropes; ///< by `LayerConfig::rope`
  bool interleavedRope = false;
  std::vector<double> slopes; ///< ALiBi, one a head
  RelativeBias relativeBias;
  RelativePositions relativePositions;
  Convolution convolution;
  bool addsPositions = true; ///< to the embedding, where the family does
  std::optional<Activation> poolerActivation;
  double attentionCap = 0, logitCap = 0;
  NormPlacement normPlacement = NormPlacement::Pre;
  bool finalNorm = true;
  bool normsHaveWeights = true;
  bool parallelResidual = false, residualFromNorm = false;
  int64_t parallelNorms = 2; ///< of a parallel layer: one for both, or two
  HeadNorms headNorms = HeadNorms::None;
  bool qkvBias = false, outputBias = false, mlpBias = false, downBias = false,
       normBias = false;
  bool headBias = false, vocabularyBias = false;
  MlpKind mlp = MlpKind::Plain;
  double embeddingScale = 1; ///< of the token embedding
  double residualScale = 1;  ///< of what is added to a residual
  bool sharedWord = true;    ///< `FamilyModules::sharedWord` counts
  Pooling pooling = Pooling::First;
  std::optional<Adapter> adapter; ///< merged into weights
  bool tied = false;    ///< the head's weight may be the token embedding
  double headScale = 1; ///< of `HeadStep::Kind::Scale`
};

/// Refuses values of keys that no block of the family builds. Errors are the
/// config's.
void refuseUnsupportedValues(Config &config, const ModelFamily &family);

/// Reads a config by the entry of a family or of a half of one, and refuses
/// what its features do not cover. Errors are the config's.
ModelConfig readModelConfig(Config &config, const ModelFamily &family);

} // namespace transom
