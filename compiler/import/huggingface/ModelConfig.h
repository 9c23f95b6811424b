// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model as described by its config.json: sizes and features, read according
// to the family's table entry and checked for consistency.
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/PositionBias.h"
#include "compiler/import/huggingface/Rope.h"
#include "dialects/common/PositionBuckets.h"

namespace transom {

/// Settings that may differ between layers.
struct LayerConfig {
  int64_t module = 0, inner = 0; ///< indices in `FamilyModules::layer`
  int64_t window = 0;            ///< as in `attn.sdpa`; 0 = all positions
  double scale = 1;              ///< score scale
  /// Index into the model's ropes; nullopt: no rope.
  std::optional<size_t> rope = 0;
};

/// A score bias by query-key distance (T5, MPNet).
struct RelativeBias {
  int64_t entries = 0; ///< rows of the stored table; 0 = no such bias
  DistanceBuckets rule;
};

/// Disentangled attention (DeBERTa).
struct RelativePositions {
  PositionBuckets rule;    ///< bucketing for the table; 0 positions = no table
  bool normalized = false; ///< the table has a norm
  bool shared = false;     ///< positions use the token projections
  /// Products added to the query-key scores: query and position, key and
  /// position. They count without a table, too.
  bool toPosition = false, fromPosition = false;

  bool any() const { return rule.positions && (toPosition || fromPosition); }
  /// Number of products in the score sum.
  int64_t getNumProducts() const { return 1 + toPosition + fromPosition; }
};

/// A convolution along the sequence.
struct Convolution {
  int64_t size = 0; ///< kernel size, odd; 0 = no convolution
  int64_t groups = 1;
  std::optional<Activation> activation;
};

/// Sizes and features of one model.
struct ModelConfig {
  int64_t vocab = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0,
          intermediate = 0;
  bool ownKvHeads = false;    ///< the config specifies their number
  bool ownHeadDim = false;    ///< differs from hidden size / heads
  int64_t embeddingWidth = 0; ///< token embedding width
  int64_t positions = 0;      ///< position table entries after its offset
  int64_t types = 0;          ///< token types; 0 if the family has none
  int64_t pad = 0;            ///< padding id for `PositionIndex::NonpadRank`
  int64_t labels = 0;
  /// For a head with labels after a decoder: the padding id, or with an encoder
  /// the end token, that identifies the token that the head reads.
  std::optional<int64_t> classToken;
  std::optional<int64_t> context; ///< max sequence length
  double epsilon = 0;
  std::optional<Activation> activation, headActivation;
  std::vector<LayerConfig> layers;
  std::vector<Rope> ropes; ///< indexed by `LayerConfig::rope`
  bool interleavedRope = false;
  std::vector<double> slopes; ///< ALiBi, one per head
  RelativeBias relativeBias;
  RelativePositions relativePositions;
  Convolution convolution;
  bool addsPositions = true; ///< to the embedding, if the family supports it
  std::optional<Activation> poolerActivation;
  double attentionCap = 0, logitCap = 0;
  NormPlacement normPlacement = NormPlacement::Pre;
  bool finalNorm = true;
  bool normsHaveWeights = true;
  bool parallelResidual = false, residualFromNorm = false;
  int64_t parallelNorms = 2; ///< for a parallel layer: one for both, or two
  HeadNorms headNorms = HeadNorms::None;
  bool qkvBias = false, outputBias = false, mlpBias = false, downBias = false,
       normBias = false;
  bool headBias = false, vocabularyBias = false;
  MlpKind mlp = MlpKind::Plain;
  double embeddingScale = 1; ///< token embedding factor
  double residualScale = 1;  ///< factor for values added to a residual
  bool sharedWord = true;    ///< `FamilyModules::sharedWord` applies
  Pooling pooling = Pooling::First;
  std::optional<Adapter> adapter; ///< merged into weights
  bool tied = false;    ///< the head's weight may be the token embedding
  double headScale = 1; ///< for `HeadStep::Kind::Scale`
};

/// Rejects key values that no block of the family supports. Errors are recorded
/// in the config.
void refuseUnsupportedValues(Config &config, const ModelFamily &family);

/// Reads a config according to a family's entry or one of its halves, and
/// rejects values that its features do not cover. Errors are recorded in the
/// config.
ModelConfig readModelConfig(Config &config, const ModelFamily &family);

} // namespace transom
