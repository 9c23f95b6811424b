// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of model families. A family is one `ModelFamily`: the config keys
// it reads with their defaults, the names of its modules, its features, its
// heads and the values of config keys that it refuses. Encoders and decoders
// share the table and all features; the blocks that build a model know
// features, never families.
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
  Encoder,       ///< entry `encode`: all tokens of a batch see each other
  Decoder,       ///< entry `step`: new tokens of sequences, over a cache
  EncoderDecoder ///< an encoder, and a decoder that attends to its states
};

enum class NormKind {
  Layer,
  Rms,
  RmsOnePlus ///< the stored weight is gamma - 1
};

/// Where the norms of a layer are.
enum class NormPlacement {
  Pre, ///< x + f(norm(x))
  Post ///< norm(x + f(x))
};

/// How a model encodes positions, besides a relative bias.
enum class PositionEncoding {
  None,
  Learned,  ///< a table of embeddings
  Sinusoid, ///< a table of sines and cosines, `ModelFamily::sinusoid`
  Rope,     ///< numbers of each head are turned in pairs
  Alibi ///< slope * (key - query) on scores; of encoders -slope * |key - query|
};

/// How the entries of a position table are counted.
enum class PositionIndex {
  Column,    ///< the token's column: its index in the padded sequence
  NonpadRank ///< RoBERTa: padding id + rank (from 1) among the other ids;
             ///< encoders only
};

/// Where a projection from the embedding width to the hidden size is, in models
/// whose embedding width may differ.
enum class EmbeddingProjection {
  BeforePositions, ///< of the token embedding alone (OPT)
  BeforeNorm,      ///< of the sum, without bias (DeBERTa)
  AfterNorm        ///< of the normalized sum (ELECTRA)
};

/// How query, key and value are stored.
enum class QkvLayout {
  Separate, ///< three projections
  Stacked,  ///< one: all of the query, then key, then value
  ByKvHead  ///< one: for each head of the keys the queries that read it, the
            ///< key and the value
};

/// Norms (`normKind`) of query and key, before positions.
enum class HeadNorms {
  None,
  Shared, ///< of each head, with weights that all heads share
  Own,    ///< of each head, with weights for each; LayerNorm without biases
  Joint   ///< of all heads at once
};

enum class MlpKind {
  Plain,       ///< down(act(up x))
  Glu,         ///< down(act(gate x) * up x)
  StackedGlu,  ///< the same; the module `up` holds the rows of gate, then of up
  StackedUpGlu ///< the same; that module holds the rows of up, then of gate
};

/// Which hidden states a classifying head reads.
enum class Pooling {
  First, ///< that of the first token
  Mean,  ///< their mean
  Late   ///< all of them, and results are the mean of theirs
};

/// Which layers attend to a window of positions only.
enum class WindowLayers {
  None,
  All,         ///< the window holds for all layers
  FromLayer,   ///< `use_sliding_window`, `layer_types`, or from
               ///< `max_window_layers` on
  Even,        ///< `layer_types`, or layers 0, 2, ...
  NotEveryNth, ///< `layer_types`, or all but each n-th from layer 0 on
  NotLastOfN,  ///< `layer_types`, or all but the last of each n layers
  WithoutRope  ///< `layer_types`, or, with `use_sliding_window`, layers without
               ///< rope
};

/// What the value of the window's config key means.
enum class WindowSize {
  Previous, ///< w: key j is visible to query i when i - w < j
  Total     ///< w: |i - j| <= w / 2
};

/// A feature that is on or off: the key that says so, and the value if the key
/// is absent or the family has no such key.
struct FlagRule {
  bool absent = false;
  ConfigKey key = {};
};

/// A config key of which one value is supported; all others are refused with
/// exit code 4. An absent or null key is accepted.
struct SupportedValue {
  const char *key;
  const char *value; ///< a text, or several with `|` between them, "true",
                     ///< "false", an integer, or "null" (the key must be
                     ///< absent, null or empty)
};

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names of config keys. Several names are spellings of one key: the first that
/// the config sets is read, the others are ignored. An empty list means that
/// the family has no such key; its feature is off, or as the defaults say.
struct FamilyKeys {
  ConfigKey vocab = {"vocab_size"};
  ConfigKey vocabMultiple; ///< the vocabulary is padded to a multiple of it
  ConfigKey ownVocab; ///< the vocabulary of an embedding that is not shared
  FlagRule sharedWord = {true}; ///< `FamilyModules::sharedWord` counts
  FlagRule scaledEmbedding;     ///< times the root of the hidden size
  ConfigKey embeddingScale;     ///< the embedding is multiplied by it
  ConfigKey tied = {"tie_word_embeddings"}; ///< the head's weight is the token
                                            ///< embedding's
  /// The head divides hidden states by the root of the hidden size. Absent:
  /// where 'tie_word_embeddings' is not false.
  ConfigKey scaledHead;
  ConfigKey logitScale, logitDivisor; ///< logits are multiplied, divided by it
  ConfigKey hidden, layers, heads, kvHeads, headDim, intermediate, activation,
      positions, types, epsilon;
  /// The embedding has the positions of `PositionEncoding::Learned`.
  FlagRule addsPositions = {true};
  ConfigKey pad;       ///< the padding id of `PositionIndex::NonpadRank`
  FlagRule qkvBias;    ///< of the projections of query, key and value
  FlagRule outputBias; ///< of the attention's output projection
  FlagRule mlpBias;    ///< of all projections of the MLP
  std::optional<FlagRule> downBias; ///< of `down`, where it is not `mlpBias`
  FlagRule normBias = {true};
  FlagRule headBias, vocabularyBias = {true};
  FlagRule headNorms = {true}; ///< query and key have the family's norms
  ConfigKey theta, localTheta, ropeFraction;
  ConfigKey interleavedRope; ///< true: as `ModelFamily::interleavedRope`
  /// 1 for each layer with rope, 0 for one without. Absent: the last of each
  /// `ropePeriod` layers has none.
  ConfigKey ropeLayers, ropePeriod;
  ConfigKey window, windowPeriod;
  /// Rows of the stored table of the relative bias. All are used by families
  /// with `biasDistance`, `defaults.biasBuckets` by the others.
  ConfigKey biasBuckets;
  ConfigKey biasDistance; ///< positions this far apart share the last bucket
  /// Disentangled attention: whether there is a table of relative positions;
  /// which of `c2p` and `p2c` products with them scores have; buckets of far
  /// distances and the distance that is the first out of reach, 0 and below:
  /// none, as many as positions; whether positions are projected as tokens
  /// are; `layer_norm` for a norm of the table.
  FlagRule relativePositions;
  ConfigKey positionScores, positionBuckets, positionDistance;
  FlagRule sharedPositions;
  ConfigKey positionNorm;
  /// A convolution over the embedding, added after the first layer: its size, 0
  /// for none, its groups and its activation.
  ConfigKey convolution, convolutionGroups, convolutionActivation;
  ConfigKey feedForward; ///< an activation, with `gated-` before it for a GLU
  ConfigKey gated;       ///< the MLP is a GLU, whatever `feedForward` says
  ConfigKey attentionCap, logitCap;
  ConfigKey queryScalar;      ///< scores are scaled by its -1/2 power
  ConfigKey scoreScale;       ///< scores are multiplied by it, by nothing else
  ConfigKey scaleScores;      ///< false: scores are not scaled by the head size
  ConfigKey scaleByLayer;     ///< true: scores are divided by layer + 1
  ConfigKey residualScale;    ///< what is added to a residual, times this
  FlagRule parallelResidual;  ///< attention and MLP read the same state
  ConfigKey parallelNorms;    ///< norms of that state: one for both, or two
  ConfigKey residualFromNorm; ///< the residual is what the norm gives
  ConfigKey normBefore; ///< true: `NormPlacement::Pre`; false: `Post`; absent:
                        ///< as the family's `normPlacement`
  ConfigKey noFinalNorm;
  ConfigKey normsHaveWeights;
  /// Groups of layers that share their weights, and the layers of a group; each
  /// layer of `layers` is one pass through its group. Absent: 1.
  ConfigKey layerGroups, innerLayers;
  ConfigKey embeddingWidth;   ///< projected to and from the hidden size
  ConfigKey headActivation;   ///< of the head, where it is not the model's
  ConfigKey poolerActivation; ///< of `HeadStep::Kind::PoolerActivation`
  ConfigKey poolerWidth;      ///< has to be the hidden size
  /// Names of tasks with adapters (LoRA), their rank and the factor by which
  /// it is divided, and what texts of a task begin with.
  ConfigKey tasks, taskRank, taskAlpha, taskPrefixes;
  ConfigKey pooling; ///< one of `ModelFamily::poolings`
};

/// What an absent key means, as in the family's config class.
struct FamilyDefaults {
  int64_t vocab, hidden, layers, heads;
  int64_t kvHeads = 0;             ///< 0 = as heads
  int64_t headDim = 0;             ///< 0 = hidden size / heads
  int64_t intermediate = 0;        ///< 0 = thirds of the hidden size
  int64_t intermediateThirds = 12; ///< as many
  int64_t positions = 0;           ///< 0 = the family has no bound
  int64_t types = 0, pad = 0;
  std::optional<int64_t> padToken = std::nullopt; ///< of a decoder's class
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

/// Names of modules, without the prefix of the base model; those inside a layer
/// without the layer's own name. Empty where the family has none; `attention`
/// and `activation` are never empty.
struct FamilyModules {
  const char *embeddings = ""; ///< the module that adds and normalizes; in
                               ///< locations only
  const char *word = "", *position = "", *type = "", *embeddingNorm = "";
  /// Other modules whose table `word` may share, in the order in which they are
  /// looked for where the files have none for `word`.
  std::vector<const char *> sharedWord = {};
  const char *projectIn = "", *projectOut = "";
  const char *rope = "", *relativeBias = "";
  /// The table of relative positions and its norm; in a layer their
  /// projections, where they are not those of tokens.
  const char *relativePositions = "", *relativePositionNorm = "",
             *positionKey = "", *positionQuery = "";
  const char *convolution = "", *convolutionNorm = "";
  const char *layer = ""; ///< with `{i}` for the number, or that of the group,
                          ///< and `{inner}` for the number in it
  const char *attention = ""; ///< the module of the attention itself
  const char *query = "", *key = "", *value = "";
  const char *qkv = ""; ///< where they are one projection
  /// Parameters of `attention` that are the biases of query and value where
  /// `qkv` has none.
  const char *queryBias = "", *valueBias = "";
  const char *queryNorm = "", *keyNorm = ""; ///< with `{head}` for the number
                                             ///< of a head, if it has a module
  const char *output = "";            ///< the attention's output projection
  const char *attentionAdd = "";      ///< the module of the first residual sum
  const char *attentionNorm = "";     ///< of the input, or of the sum
  const char *attentionPostNorm = ""; ///< between attention and the sum
  /// After `attentionNorm`, of a second sum with the residual.
  const char *attentionSecondNorm = "";
  /// The norm of a parallel layer with one norm, where it isn't
  /// `attentionNorm`.
  const char *parallelNorm = "";
  /// The attention of a decoder to the states of the encoder.
  const char *crossAttention = "", *crossQuery = "", *crossKey = "",
             *crossValue = "", *crossOutput = "", *crossAdd = "",
             *crossNorm = "";
  const char *gate = "", *up = "", *activation = "", *down = "";
  const char *plainUp = ""; ///< `up` of a plain MLP where its name differs
  const char *mlpAdd = "";  ///< the module of the second residual sum
  const char *mlpNorm = "", *mlpPostNorm = "";
  const char *finalNorm = ""; ///< with `NormPlacement::Pre` only
  const char *pooler = "", *poolerDense = ""; ///< its projection
};

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// One step of a head; each takes what the step before it gives.
struct HeadStep {
  enum class Kind {
    First,            ///< the first token: [batch, seq, d] -> [batch, d]
    Pool,             ///< `Pooling` of hidden states, as the config says
    PoolLate,         ///< the mean of results, where the config says so
    Pooler,           ///< the pooler's output
    Linear,           ///< `module` to `width`
    Column,           ///< number `column` of what `Linear` gives
    Activation,       ///< `activation`, or the config's when null
    PoolerActivation, ///< the config's of a pooler that is the head's
    Norm,             ///< `module`
    Vocabulary, ///< to the vocabulary; weight tied where the file has none
    Cap,        ///< the config's soft cap of logits
    Scale,      ///< times `ModelConfig::headScale`
  };
  enum class Width { Hidden, Embedding, Labels, One, Two };
  enum class Bias {
    Yes,
    No,
    AsConfig,
    StoredRow ///< [1, width], where the files have it
  };
  Kind kind;
  const char *module = "";
  Width width = Width::Hidden;
  const char *activation = nullptr;
  Bias bias = Bias::Yes;
  /// Tensors of a vocabulary bias; the first that is there counts.
  std::vector<const char *> biases = {};
  /// Other names of the module.
  std::vector<const char *> otherModules = {};
  int64_t column = 0;
};

/// One result of an entry: its name and the steps from the last hidden state.
struct HeadResult {
  const char *name;
  std::vector<HeadStep> steps;
  bool isNumber = false; ///< one number a token: [batch, seq], not [.., 1]
};

/// A head: `architectures` names class name + suffix.
struct FamilyHead {
  const char *suffix; ///< `ForMaskedLM`
  const char *kind;   ///< the manifest's word: `masked_lm`
  bool labels;        ///< `id2label` names its outputs
  std::vector<HeadResult> results;
  int64_t labelCount = 2;   ///< labels where the config names none
  bool fixedLabels = false; ///< the config must have `labelCount` labels, whose
                            ///< names mean nothing

  /// No head: the base model alone.
  bool isBare() const { return std::string(kind) == "none"; }
};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct ModelFamily;

/// An entry for configs in which a key has a value.
struct FamilyVariant {
  ConfigKey key;
  /// A text; `true` or `false`, whose opposite is what an absent key means;
  /// `none`: absent, null or 0; `some`: not so; `stored`: the key is a tensor
  /// of the base model that the files have.
  const char *value;
  std::vector<ModelFamily> family; ///< one
};

/// A choice that a config makes: a variant, and how its entry differs.
struct FamilyChoice {
  ConfigKey key;
  const char *value; ///< as `FamilyVariant::value`
  std::function<void(ModelFamily &)> change;
};

/// An entry of the table.
struct ModelFamily {
  const char *modelType; ///< config's `model_type`
  const char *className; ///< of classes, without the head's suffix: `Bert`
  const char *prefix;    ///< of tensors under a head: `bert.`
  FamilyKeys keys;
  FamilyDefaults defaults;
  FamilyModules modules;
  std::vector<const char *> otherClassNames = {};
  ModelKind kind = ModelKind::Decoder;
  NormKind normKind = NormKind::Rms;
  /// The norms outside of layers, where they are of another kind.
  std::optional<NormKind> outerNormKind = std::nullopt;
  NormPlacement normPlacement = NormPlacement::Pre;
  PositionEncoding positions = PositionEncoding::Rope;
  PositionIndex positionIndex = PositionIndex::Column;
  /// Entries of the position table before the first position: 2 for OPT. It
  /// stays 0 with `NonpadRank`, which counts from padding id + 1.
  int64_t positionOffset = 0;
  SinusoidOrder sinusoid = SinusoidOrder::Halves;
  /// The table of sines and cosines is read where the files have it. False: it
  /// is always computed.
  bool sinusoidFromFile = true;
  EmbeddingProjection projection = EmbeddingProjection::BeforePositions;
  bool alwaysProjects = false; ///< also where the widths are equal
  bool typesOptional = false;  ///< 0 token types: none
  /// Values of `FamilyKeys::pooling`, the default first.
  std::vector<std::pair<const char *, Pooling>> poolings = {
      {"cls", Pooling::First}, {"mean", Pooling::Mean}};
  QkvLayout qkv = QkvLayout::Separate;
  MlpKind mlp = MlpKind::Glu;
  /// Checkpoints may have the intermediate size padded to a multiple of it.
  int64_t mlpMultiple = 1;
  bool transposedWeights = false;   ///< projections are stored [in, out]
  bool startsWithLastLabel = false; ///< the first token of a target is its last
                                    ///< label, the code of its language
  HeadNorms headNorms = HeadNorms::None;
  bool partialRope = false;     ///< `ropeFraction` may be below 1
  bool positionKeyBias = true;  ///< of `FamilyModules::positionKey`
  bool wholeRope = false;       ///< it must be that of a whole count of numbers
  bool interleavedRope = false; ///< rope turns pairs of neighbours, not halves
  bool ropeByLayerType = false; ///< layers with a window have their own rope
  bool scalesLocalRope = true;  ///< `rope_scaling` holds for that rope, too
  bool scaledAlibi = false;     ///< ALiBi is added before scores are scaled
  bool firstLayerNorm = true;   ///< false: attention of layer 0 has no norm
  WindowLayers windows = WindowLayers::None;
  WindowSize windowSize = WindowSize::Previous;
  /// Values of `rope_type` that its class takes.
  std::vector<const char *> ropeTypes = {"default", "linear", "dynamic",
                                         "llama3", "yarn"};
  std::vector<FamilyHead> heads = {}; ///< the first of a decoder's is meant
                                      ///< where `architectures` says nothing
  std::vector<const char *> ignoredKeys = {}; ///< besides those of all families
  /// The encoder and the decoder of a `ModelKind::EncoderDecoder`, each an
  /// entry of its own kind. Type, class, prefix, heads, `ignoredKeys` and
  /// `supportedValues` are those of the outer entry, all else is theirs.
  std::vector<ModelFamily> halves = {};
  /// Texts are embedded by the encoder of an encoder-decoder alone, as
  /// sentence-transformers loads it.
  bool embedsByEncoder = true;
  /// Entries that replace this one, with variants of their own; the first that
  /// the config asks for. The type is that of the outer entry.
  std::vector<FamilyVariant> variants = {};
  /// Features of the family's class that no block builds. List each key that
  /// selects one: a key that changes results and is only ignored gives wrong
  /// results silently.
  std::vector<SupportedValue> supportedValues = {};
  /// The same for `position_embedding_type`.
  const char *positionType = "absolute";
  /// The special tokens of the config class. transformers reads all other keys
  /// of generation from the files alone.
  std::vector<GenerationDefault> generationDefaults = {};
};

/// An entry whose variants are all that choices make of it, one or several.
ModelFamily withChoices(ModelFamily family,
                        const std::vector<FamilyChoice> &choices);

/// All entries, sorted by model type.
const std::vector<ModelFamily> &modelFamilies();
/// The entry for a `model_type`, or null.
const ModelFamily *findModelFamily(const std::string &modelType);
/// The entry that a config chooses among those of a family. `hasTensor` says
/// if the files have one of that name.
const ModelFamily &
chooseVariant(Config &config, const ModelFamily &family,
              const std::function<bool(const std::string &)> &hasTensor);
/// The supported values of keys, for all families of a kind.
const std::vector<SupportedValue> &getSupportedValues(ModelKind kind);
/// Keys that give no note in any family. A family may still read or refuse one.
const std::vector<const char *> &commonIgnoredKeys();

// The families, by what they are derived from.
std::vector<ModelFamily> bertFamilies();
std::vector<ModelFamily> debertaFamilies();
std::vector<ModelFamily> gemmaFamilies();
std::vector<ModelFamily> gptFamilies();
std::vector<ModelFamily> layerNormFamilies();
std::vector<ModelFamily> llamaFamilies();
std::vector<ModelFamily> robertaFamilies();
std::vector<ModelFamily> ropeEncoderFamilies();
std::vector<ModelFamily> seq2SeqFamilies();
// Entries from which others are derived, or that are their variants.
ModelFamily bertEntry();
ModelFamily flashXlmRobertaEntry();
ModelFamily jinaBertEntry();
ModelFamily llamaEntry();

} // namespace transom
