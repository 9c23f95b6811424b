// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model family table. A family is one `ModelFamily`: its config keys with their
// defaults, module names, features, heads and rejected config values. Encoders
// and decoders share the table and all features; the blocks that build a model
// depend on features, never on families.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include "compiler/import/huggingface/GenerationSettings.h"
#include "dialects/weights/WeightExpr.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transom {

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

enum class ModelKind {
  Encoder,       ///< entry `encode`: all tokens in a batch attend to each other
  Decoder,       ///< entry `step`: new tokens of sequences, with a cache
  EncoderDecoder ///< an encoder, and a decoder that attends to its states
};

enum class NormKind {
  Layer,
  Rms,
  RmsOnePlus ///< the stored weight is gamma - 1
};

/// Position of a layer's norms.
enum class NormPlacement {
  Pre, ///< x + f(norm(x))
  Post ///< norm(x + f(x))
};

/// Position encoding, in addition to a relative bias.
enum class PositionEncoding {
  None,
  Learned,  ///< an embedding table
  Sinusoid, ///< a sine and cosine table, `ModelFamily::sinusoid`
  Rope,     ///< rotates pairs of elements in each head
  Alibi ///< slope * (key - query) on scores; -slope * |key - query| in encoders
};

/// Index into a position table.
enum class PositionIndex {
  Column,    ///< the token's column: its index in the padded sequence
  NonpadRank ///< RoBERTa: padding id + rank (from 1) among the other ids;
             ///< encoders only
};

/// Position of the projection from embedding width to hidden size, in models
/// whose embedding width may differ.
enum class EmbeddingProjection {
  BeforePositions, ///< applied to the token embedding only (OPT)
  BeforeNorm,      ///< applied to the sum, without bias (DeBERTa)
  AfterNorm        ///< applied to the normalized sum (ELECTRA)
};

/// Storage layout for query, key and value.
enum class QkvLayout {
  Separate, ///< three projections
  Stacked,  ///< one: all of the query, then key, then value
  ByKvHead  ///< one: for each key head, its query heads, key and value
};

/// Query and key norms (`normKind`), before positions.
enum class HeadNorms {
  None,
  Shared, ///< for each head, with weights shared by all heads
  Own,    ///< for each head, with separate weights; LayerNorm without biases
  Joint   ///< over all heads at once
};

enum class MlpKind {
  Plain,       ///< down(act(up x))
  Glu,         ///< down(act(gate x) * up x)
  StackedGlu,  ///< the same; the module `up` has the rows of gate, then up
  StackedUpGlu ///< the same; that module has the rows of up, then gate
};

/// Hidden states that a classification head reads.
enum class Pooling {
  First, ///< the first token's state
  Mean,  ///< their mean
  Late   ///< all states; results are averaged
};

/// Layers with window attention.
enum class WindowLayers {
  None,
  All,         ///< all layers have the window
  FromLayer,   ///< with `use_sliding_window`: `layer_types`, or layers >=
               ///< `max_window_layers`
  Even,        ///< `layer_types`, or layers 0, 2, ...
  NotEveryNth, ///< `layer_types`, or all except for each n-th layer, starting
               ///< at layer 0
  NotLastOfN,  ///< `layer_types`, or all except for the last of each n layers
  WithoutRope  ///< `layer_types`, or, with `use_sliding_window`, layers without
               ///< rope
};

/// Meaning of the window size key.
enum class WindowSize {
  Previous, ///< w: key j is visible to query i if i - w < j
  Total     ///< w: |i - j| <= w / 2
};

/// A feature flag: its config key, and the value if the key is absent or the
/// family has no such key.
struct FlagRule {
  bool absent = false;
  ConfigKey key = {};
};

/// A config key with one supported value; all others are rejected with exit
/// code 4. An absent or null key is accepted.
struct SupportedValue {
  const char *key;
  const char *value; ///< a string, or several separated by `|`, "true",
                     ///< "false", an integer, or "null" (the key must be
                     ///< absent, null or empty)
};

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Config key names. Several names are spellings of one key: the first one that
/// the config sets is read, the others are ignored. An empty list means that
/// the family has no such key; its feature is off, or as the defaults specify.
struct FamilyKeys {
  ConfigKey vocab = {"vocab_size"};
  ConfigKey vocabMultiple; ///< the vocabulary is padded to a multiple of it
  ConfigKey ownVocab; ///< vocabulary size for an embedding that is not shared
  FlagRule sharedWord = {true}; ///< `FamilyModules::sharedWord` applies
  FlagRule scaledEmbedding;     ///< embedding factor: sqrt(hidden size)
  ConfigKey embeddingScale;     ///< embedding factor
  ConfigKey tied = {"tie_word_embeddings"}; ///< the head uses the embedding
  /// The head divides hidden states by the square root of the hidden size.
  /// Absent: unless 'tie_word_embeddings' is false.
  ConfigKey scaledHead;
  ConfigKey logitScale, logitDivisor; ///< logit factor, logit divisor
  ConfigKey hidden, layers, heads, kvHeads, headDim, intermediate, activation,
      positions, types, epsilon;
  /// `PositionEncoding::Learned` positions are added to the embedding.
  FlagRule addsPositions = {true};
  ConfigKey pad;       ///< padding id for `PositionIndex::NonpadRank`
  FlagRule qkvBias;    ///< query, key and value projection bias
  FlagRule outputBias; ///< attention output projection bias
  FlagRule mlpBias;    ///< bias for all MLP projections
  std::optional<FlagRule> downBias; ///< `down` bias, if not `mlpBias`
  FlagRule normBias = {true};
  FlagRule headBias, vocabularyBias = {true};
  FlagRule headNorms = {true}; ///< query and key have norms
  ConfigKey theta, localTheta, ropeFraction;
  ConfigKey interleavedRope; ///< true: as `ModelFamily::interleavedRope`
  /// 1 for each layer with rope, 0 for one without. Absent: the last of each
  /// `ropePeriod` layers has none.
  ConfigKey ropeLayers, ropePeriod;
  ConfigKey window, windowPeriod;
  /// Rows in the stored relative bias table. Families with `biasDistance` use
  /// all of them, the others `defaults.biasBuckets`.
  ConfigKey biasBuckets;
  ConfigKey biasDistance; ///< from here on positions share a bucket
  /// Disentangled attention: whether there is a relative position table; which
  /// `c2p` and `p2c` products are added to scores; buckets for far distances;
  /// the first distance out of range (<= 0: the position count); whether
  /// positions use the token projections; `layer_norm` for a table norm.
  FlagRule relativePositions;
  ConfigKey positionScores, positionBuckets, positionDistance;
  FlagRule sharedPositions;
  ConfigKey positionNorm;
  /// A convolution over the embedding, added after the first layer: its size, 0
  /// for none, its groups and its activation.
  ConfigKey convolution, convolutionGroups, convolutionActivation;
  ConfigKey feedForward; ///< an activation, prefixed with `gated-` for a GLU
  ConfigKey gated;       ///< the MLP is a GLU, independent of `feedForward`
  ConfigKey attentionCap, logitCap;
  ConfigKey queryScalar;      ///< scores are scaled by (its value)^(-1/2)
  ConfigKey scoreScale;       ///< the only score factor
  ConfigKey scaleScores;      ///< false: scores are not scaled by the head size
  ConfigKey scaleByLayer;     ///< true: scores are divided by layer + 1
  ConfigKey residualScale;    ///< factor for values added to a residual
  FlagRule parallelResidual;  ///< attention and MLP read the same state
  ConfigKey parallelNorms;    ///< norms for that state: one for both, or two
  ConfigKey residualFromNorm; ///< the residual is the norm's output
  ConfigKey normBefore; ///< true: `NormPlacement::Pre`; false: `Post`; absent:
                        ///< the family's `normPlacement`
  ConfigKey noFinalNorm;
  ConfigKey normsHaveWeights;
  /// Number of layer groups that share their weights, and layers per group;
  /// each layer of `layers` is one pass through its group. Absent: 1.
  ConfigKey layerGroups, innerLayers;
  ConfigKey embeddingWidth;   ///< projected to and from the hidden size
  ConfigKey headActivation;   ///< if it differs from the model's
  ConfigKey poolerActivation; ///< for `HeadStep::Kind::PoolerActivation`
  ConfigKey poolerWidth;      ///< must be the hidden size
  /// Task names for adapters (LoRA), their rank and the numerator of their
  /// scale, and the text prefixes for tasks.
  ConfigKey tasks, taskRank, taskAlpha, taskPrefixes;
  ConfigKey pooling; ///< one of `ModelFamily::poolings`
};

/// Values for absent keys, as in the family's config class.
struct FamilyDefaults {
  int64_t vocab, hidden, layers, heads;
  int64_t kvHeads = 0;             ///< 0 = same as heads
  int64_t headDim = 0;             ///< 0 = hidden size / heads
  int64_t intermediate = 0;        ///< 0 = `intermediateThirds`
  int64_t intermediateThirds = 12; ///< thirds of the hidden size
  int64_t positions = 0;           ///< 0 = the family has no bound
  int64_t types = 0, pad = 0;
  std::optional<int64_t> padToken = std::nullopt; ///< the decoder class default
  int64_t embeddingWidth = 0;                     ///< 0 = hidden size
  double epsilon = 1e-6;
  const char *activation = "silu";
  const char *feedForward = "relu";
  const char *headActivation = "gelu";
  bool tied = false;
  int64_t window = 0; ///< 0 = none
  int64_t firstWindowLayer = 0, windowPeriod = 0;
  int64_t ropePeriod = 0;
  int64_t parallelNorms = 2;
  double theta = 10000, localTheta = 10000;
  double ropeFraction = 1;
  double attentionCap = 0, logitCap = 0, queryScalar = 0; ///< 0 = none
  double scoreScale = 1, logitScale = 1;
  int64_t biasBuckets = 32, biasDistance = 128;
};

/// Module names, without the base model prefix; names inside a layer omit the
/// layer's name. Empty if the family has none; `attention` and `activation` are
/// never empty.
struct FamilyModules {
  const char *embeddings = ""; ///< adds and normalizes; for locations
  const char *word = "", *position = "", *type = "", *embeddingNorm = "";
  /// Other modules whose table replaces `word`, in lookup order, if the files
  /// have none for `word`.
  std::vector<const char *> sharedWord = {};
  const char *projectIn = "", *projectOut = "";
  const char *rope = "", *relativeBias = "";
  /// The relative position table and its norm; in a layer their projections, if
  /// they differ from the token projections.
  const char *relativePositions = "", *relativePositionNorm = "",
             *positionKey = "", *positionQuery = "";
  const char *convolution = "", *convolutionNorm = "";
  const char *layer = "";     ///< with `{i}` for the layer or group index, and
                              ///< `{inner}` for the index in the group
  const char *attention = ""; ///< the attention module itself
  const char *query = "", *key = "", *value = "";
  const char *qkv = ""; ///< if they are one projection
  /// Parameters of `attention` with the query and value biases if `qkv` has
  /// none.
  const char *queryBias = "", *valueBias = "";
  const char *queryNorm = "", *keyNorm = ""; ///< with `{head}` for the head
                                             ///< index, if each head has a
                                             ///< module
  const char *output = "";                   ///< attention output projection
  const char *attentionAdd = "";             ///< first residual sum
  const char *attentionNorm = "";     ///< applied to the input or the sum
  const char *attentionPostNorm = ""; ///< between attention and sum
  /// After `attentionNorm`, for a second sum with the residual.
  const char *attentionSecondNorm = "";
  /// Norm of a parallel layer with one norm, if it isn't `attentionNorm`.
  const char *parallelNorm = "";
  /// The decoder's attention to encoder states.
  const char *crossAttention = "", *crossQuery = "", *crossKey = "",
             *crossValue = "", *crossOutput = "", *crossAdd = "",
             *crossNorm = "";
  const char *gate = "", *up = "", *activation = "", *down = "";
  const char *plainUp = ""; ///< `up` in a plain MLP, if its name differs
  const char *mlpAdd = "";  ///< second residual sum
  const char *mlpNorm = "", *mlpPostNorm = "";
  const char *finalNorm = ""; ///< with `NormPlacement::Pre` only
  const char *pooler = "", *poolerDense = ""; ///< its projection
};

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// One head step, applied to the previous step's output.
struct HeadStep {
  enum class Kind {
    First,            ///< the first token: [batch, seq, d] -> [batch, d]
    Pool,             ///< hidden state `Pooling`, as configured
    PoolLate,         ///< mean over results, as configured
    Pooler,           ///< pooler output
    Linear,           ///< projection by `module` to `width`
    Column,           ///< element `column` of `Linear` output
    Activation,       ///< `activation`, or the config's when null
    PoolerActivation, ///< the configured activation of a pooler in the head
    Norm,             ///< `module`
    Vocabulary, ///< to the vocabulary; the weight is tied if the files have
                ///< none
    Cap,        ///< configured soft cap for logits
    Scale,      ///< times `ModelConfig::headScale`
  };
  enum class Width { Hidden, Embedding, Labels, One, Two };
  enum class Bias {
    Yes,
    No,
    AsConfig,
    StoredRow ///< [1, width], if the files have it
  };
  Kind kind;
  const char *module = "";
  Width width = Width::Hidden;
  const char *activation = nullptr;
  Bias bias = Bias::Yes;
  /// Vocabulary bias tensors; the first existing one is used.
  std::vector<const char *> biases = {};
  /// Other names for the module.
  std::vector<const char *> otherModules = {};
  int64_t column = 0;
};

/// One entry result: its name and the steps after the last hidden state.
struct HeadResult {
  const char *name;
  std::vector<HeadStep> steps;
  bool isNumber = false; ///< one value per token: [batch, seq], not [.., 1]
};

/// A head: `architectures` names class name + suffix.
struct FamilyHead {
  const char *suffix; ///< `ForMaskedLM`
  const char *kind;   ///< name in the manifest: `masked_lm`
  bool labels;        ///< `id2label` names its outputs
  std::vector<HeadResult> results;
  int64_t labelCount = 2;   ///< default label count
  bool fixedLabels = false; ///< exactly `labelCount`; names are ignored

  /// No head: the base model alone.
  bool isBare() const { return std::string(kind) == "none"; }
};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct ModelFamily;

/// A variant entry for configs in which a key has a value.
struct FamilyVariant {
  ConfigKey key;
  /// A string; `true` or `false`, with the opposite as default; `none`: absent,
  /// null or 0; `some`: the opposite; `stored`: the key is a base model tensor
  /// that the files have.
  const char *value;
  std::vector<ModelFamily> family; ///< one
};

/// A config choice: a variant, and the changes to its entry.
struct FamilyChoice {
  ConfigKey key;
  const char *value; ///< as `FamilyVariant::value`
  std::function<void(ModelFamily &)> change;
};

/// A table entry.
struct ModelFamily {
  const char *modelType; ///< config's `model_type`
  const char *className; ///< class name prefix before the head's suffix: `Bert`
  const char *prefix;    ///< tensor prefix under a head: `bert.`
  FamilyKeys keys;
  FamilyDefaults defaults;
  FamilyModules modules;
  std::vector<const char *> otherClassNames = {};
  ModelKind kind = ModelKind::Decoder;
  NormKind normKind = NormKind::Rms;
  /// Kind of norms outside layers, if it differs.
  std::optional<NormKind> outerNormKind = std::nullopt;
  NormPlacement normPlacement = NormPlacement::Pre;
  PositionEncoding positions = PositionEncoding::Rope;
  PositionIndex positionIndex = PositionIndex::Column;
  /// Position table entries before the first position: 2 for OPT. 0 with
  /// `NonpadRank`, which counts from padding id + 1.
  int64_t positionOffset = 0;
  SinusoidOrder sinusoid = SinusoidOrder::Halves;
  /// The sine and cosine table is read if the files have it. False: it is
  /// always computed.
  bool sinusoidFromFile = true;
  EmbeddingProjection projection = EmbeddingProjection::BeforePositions;
  bool alwaysProjects = false; ///< also if the widths are equal
  bool typesOptional = false;  ///< 0 token types: none
  /// Values for `FamilyKeys::pooling`, the default first.
  std::vector<std::pair<const char *, Pooling>> poolings = {
      {"cls", Pooling::First}, {"mean", Pooling::Mean}};
  QkvLayout qkv = QkvLayout::Separate;
  MlpKind mlp = MlpKind::Glu;
  /// Checkpoints may have the intermediate size padded to a multiple of it.
  int64_t mlpMultiple = 1;
  bool transposedWeights = false;   ///< projections are stored as [in, out]
  bool startsWithLastLabel = false; ///< targets start with the language code
  HeadNorms headNorms = HeadNorms::None;
  bool partialRope = false;     ///< `ropeFraction` may be below 1
  bool positionKeyBias = true;  ///< for `FamilyModules::positionKey`
  bool wholeRope = false;       ///< the fraction must be an integer count
  bool interleavedRope = false; ///< rope rotates adjacent pairs, not halves
  bool ropeByLayerType = false; ///< layers with a window have their own rope
  bool scalesLocalRope = true;  ///< `rope_scaling` applies to that rope, too
  bool scaledAlibi = false;     ///< ALiBi is added before score scaling
  bool firstLayerNorm = true;   ///< false: layer 0 has no attention norm
  WindowLayers windows = WindowLayers::None;
  WindowSize windowSize = WindowSize::Previous;
  /// Supported `rope_type` values.
  std::vector<const char *> ropeTypes = {"default", "linear", "dynamic",
                                         "llama3", "yarn"};
  std::vector<FamilyHead> heads = {}; ///< a decoder's default is the first
  std::vector<const char *> ignoredKeys = {}; ///< and the common ones
  /// The encoder and decoder of a `ModelKind::EncoderDecoder`, each an entry
  /// with its own kind. Type, class, prefix, heads, `ignoredKeys` and
  /// `supportedValues` come from the outer entry, all others from the half.
  std::vector<ModelFamily> halves = {};
  /// Text embeddings use only the encoder of an encoder-decoder, as
  /// sentence-transformers loads it.
  bool embedsByEncoder = true;
  /// Entries, with their own variants, that replace this one; the first one
  /// that matches the config is used. The type comes from the outer entry.
  std::vector<FamilyVariant> variants = {};
  /// Class features that no block implements. List each key that selects one:
  /// ignoring a key that changes results gives wrong results silently.
  std::vector<SupportedValue> supportedValues = {};
  /// The supported `position_embedding_type`.
  const char *positionType = "absolute";
  /// The config class's special tokens. transformers reads all other generation
  /// keys only from the files.
  std::vector<GenerationDefault> generationDefaults = {};
};

/// Returns an entry whose variants are all combinations of choices.
ModelFamily withChoices(ModelFamily family,
                        const std::vector<FamilyChoice> &choices);

/// Returns all entries, sorted by model type.
const std::vector<ModelFamily> &modelFamilies();
/// Returns the entry for a `model_type`, or null.
const ModelFamily *findModelFamily(const std::string &modelType);
/// Returns the family entry that a config selects. `hasTensor` returns whether
/// the files have a tensor with this name.
const ModelFamily &
chooseVariant(Config &config, const ModelFamily &family,
              const std::function<bool(const std::string &)> &hasTensor);
/// Returns supported key values that apply to all families of a kind.
const std::vector<SupportedValue> &getSupportedValues(ModelKind kind);
/// Returns keys that cause no note in any family. A family may still read or
/// reject one.
const std::vector<const char *> &commonIgnoredKeys();

// The families, grouped by the entry that they are derived from.
std::vector<ModelFamily> bertFamilies();
std::vector<ModelFamily> debertaFamilies();
std::vector<ModelFamily> gemmaFamilies();
std::vector<ModelFamily> gptFamilies();
std::vector<ModelFamily> layerNormFamilies();
std::vector<ModelFamily> llamaFamilies();
std::vector<ModelFamily> robertaFamilies();
std::vector<ModelFamily> ropeEncoderFamilies();
std::vector<ModelFamily> seq2SeqFamilies();
// Base entries, and entries that are variants of others.
ModelFamily bertEntry();
ModelFamily flashXlmRobertaEntry();
ModelFamily jinaBertEntry();
ModelFamily llamaEntry();

} // namespace transom
