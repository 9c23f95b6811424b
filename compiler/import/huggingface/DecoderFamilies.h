// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of decoders that are built. A family is a row: config keys with
// their class defaults, names of modules, features. The builder knows
// features, never families.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include <string>
#include <vector>

namespace transom {

enum class NormKind {
  Layer,
  Rms,
  RmsOnePlus ///< the stored weight is gamma - 1
};

/// How a decoder learns of positions.
enum class DecoderPositions { Rotary, Learned, Alibi };

/// Where query, key and value are in the files.
enum class QkvLayout {
  Separate, ///< three projections
  Stacked,  ///< one: all of the query, then key, then value
  ByHead    ///< one: query, key and value of head 0, then of head 1, ...
};

enum class MlpKind {
  Plain,       ///< down(act(up x))
  Gated,       ///< down(act(gate x) * up x)
  GatedStacked ///< the same; gate and up are one projection
};

/// Which layers see a window of the last positions only.
enum class WindowRule {
  None,
  All,       ///< `sliding_window` holds for all layers
  FromLayer, ///< `use_sliding_window`, `layer_types`, or from
             ///< `max_window_layers` on
  EvenLayers ///< `layer_types`, or layers 0, 2, ...
};

/// If projections have a bias: the key that says so, and what its absence (or
/// the lack of such a key) means.
struct BiasRule {
  bool absent = false;
  ConfigKey key = {};
};

/// Names of config keys; an empty one means the family has no such key, and
/// its feature is off or as the defaults say.
struct DecoderKeys {
  ConfigKey hidden, layers, heads, kvHeads, headDim, intermediate, activation,
      positions, epsilon;
  BiasRule qkvBias, attentionOutBias, mlpBias;
  ConfigKey theta, rotaryShare;
  ConfigKey attentionCap, logitCap;
  ConfigKey queryScalar;      ///< scores are scaled by its -1/2 power
  ConfigKey scaleScores;      ///< false: scores are not scaled by the head size
  ConfigKey scaleByLayer;     ///< true: scores are divided by layer + 1
  ConfigKey parallelResidual; ///< attention and MLP read the same state
  ConfigKey residualFromNorm; ///< the residual is what the norm gives
  ConfigKey normBefore;       ///< false: the norm stands behind the sum
  ConfigKey noFinalNorm;
  ConfigKey normsHaveWeights;
  ConfigKey embeddingWidth; ///< projected to and from the hidden size
};

/// What an absent key means, as in the family's config class.
struct DecoderDefaults {
  int64_t vocab, hidden, layers, heads;
  int64_t kvHeads = 0;      ///< 0 = as heads
  int64_t headDim = 0;      ///< 0 = hidden size / heads
  int64_t intermediate = 0; ///< 0 = 4 * hidden size
  int64_t positions = 0;    ///< 0 = the family has no bound
  double epsilon = 1e-6;
  const char *activation = "silu";
  bool tied = false;
  int64_t window = 0; ///< `sliding_window`; 0 = none
  int64_t firstWindowLayer = 0;
  double rotaryShare = 1;
  double attentionCap = 0, logitCap = 0, queryScalar = 0; ///< 0 = none
};

/// Names of modules, without the prefix of the base model; those of a layer's
/// parts without the layer's own name. Empty where the family has none.
struct DecoderModules {
  const char *word, *position = "", *embeddingNorm = "";
  const char *projectIn = "", *projectOut = "";
  const char *rotary = "";
  const char *layer; ///< with `{i}` for the number
  const char *attention;
  const char *query = "", *key = "", *value = "";
  const char *qkv = ""; ///< where they are one projection
  const char *queryNorm = "", *keyNorm = "";
  const char *attentionOut;
  const char *attentionNorm;          ///< before attention, or behind its sum
  const char *attentionPostNorm = ""; ///< between attention and the sum
  const char *mlpNorm, *mlpPostNorm = "";
  const char *gate = "", *up, *activation, *down;
  const char *finalNorm;
};

/// A head: `architectures` says stem + suffix.
struct DecoderHead {
  const char *suffix;
  const char *kind; ///< the manifest's word: `causal_lm`
};

/// A row of the table.
struct DecoderFamily {
  const char *modelType; ///< config's `model_type`
  const char *stem;      ///< of class names: `Llama`
  const char *prefix;    ///< of tensors under a head: `model.`
  DecoderKeys keys;
  DecoderDefaults defaults;
  DecoderModules modules;
  NormKind norm = NormKind::Rms;
  DecoderPositions positions = DecoderPositions::Rotary;
  int64_t positionOffset = 0; ///< rows of the position table before the first
  QkvLayout qkv = QkvLayout::Separate;
  MlpKind mlp = MlpKind::Gated;
  bool transposedWeights = false; ///< projections are stored [in, out]
  bool scaledEmbedding = false;   ///< times the root of the hidden size
  bool normsOfHeads = false;      ///< RMS norms of query and key, head by head
  bool partialRotary = false;     ///< the rotated share may be below 1
  WindowRule window = WindowRule::None;
  /// Types of `rope_type` that its class takes.
  std::vector<const char *> rotaryTypes = {"default", "linear", "dynamic",
                                           "llama3", "yarn"};
  const char *causalHead = "ForCausalLM";     ///< suffix of the class
  std::vector<const char *> ignoredKeys = {}; ///< besides those of all families
};

/// All rows, sorted by model type.
const std::vector<DecoderFamily> &decoderFamilies();
/// The row for a `model_type`, or null.
const DecoderFamily *findDecoderFamily(const std::string &modelType);
/// The heads of a family; the first is meant where the config names none.
std::vector<DecoderHead> headsOf(const DecoderFamily &family);

} // namespace transom
