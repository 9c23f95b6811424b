// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Null and absent keys differ if the transformers classes distinguish them: an
// absent `sliding_window` has the class default, a null one means no window.
#include "compiler/import/huggingface/ModelConfig.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/Limits.h"
#include "compiler/import/huggingface/LayerPattern.h"
#include "compiler/import/huggingface/RelativePositions.h"
#include "runtime/base/Suggest.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace transom;

/// Limits in compiler/import/README.md, and for sizes that only the config
/// determines.
static constexpr int64_t maxLayers = 4096;
static constexpr int64_t maxHeads = 65536;
static constexpr int64_t maxComputedPositions = 1 << 24;

static int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

namespace {

/// Reads one config according to the family's entry.
class ModelReader {
public:
  ModelReader(Config &config, const ModelFamily &family)
      : config(config), family(family), keys(family.keys),
        defaults(family.defaults) {}
  ModelConfig read();

private:
  void readSizes();
  void readLayers();
  void readHeads();
  void readFeatures();
  void readMlp();
  void readPooling();
  void refuseCombinations();
  void readPositions();
  void readRelativeBias();
  void readRopes(int64_t positions);
  void readScales();
  void readScoreScales();

  /// Reads an integer; null means `null`, and an absent key the default.
  int64_t nullable(const ConfigKey &key, int64_t absent, int64_t null,
                   int64_t high, const char *size);
  /// Reads a number that is disabled by null or 0.
  double cap(const ConfigKey &key, double absent);
  bool flag(const FlagRule &rule);
  void fail(const ConfigKey &key, const std::string &text,
            Status status = Status::Rejected);

  Config &config;
  const ModelFamily &family;
  const FamilyKeys &keys;
  const FamilyDefaults &defaults;
  ModelConfig model;
};

} // namespace

void ModelReader::fail(const ConfigKey &key, const std::string &text,
                       Status status) {
  std::optional<JsonValue> value = config.find(key);
  config.fail((value ? *value : config.root()).error(text, status));
}

int64_t ModelReader::nullable(const ConfigKey &key, int64_t absent,
                              int64_t null, int64_t high, const char *size) {
  return config.isNull(key) ? null : config.integer(key, absent, 1, high, size);
}

double ModelReader::cap(const ConfigKey &key, double absent) {
  return config.isNull(key) ? 0 : config.number(key, absent);
}

bool ModelReader::flag(const FlagRule &rule) {
  return config.flag(rule.key, rule.absent);
}

void transom::refuseUnsupportedValues(Config &config,
                                      const ModelFamily &family) {
  auto require = [&](const SupportedValue &supported) {
    const std::string value = supported.value;
    int64_t number;
    if (value == "false" || value == "true")
      config.requireFlag({supported.key}, value == "true");
    else if (llvm::to_integer(value, number))
      config.requireInteger({supported.key}, number);
    else if (value == "null")
      config.requireAbsent({supported.key}, "supported: null");
    else
      config.requireText({supported.key}, value);
  };
  if (family.kind != ModelKind::Decoder)
    require({"position_embedding_type", family.positionType});
  llvm::for_each(getSupportedValues(family.kind), require);
  llvm::for_each(family.supportedValues, require);
}

void ModelReader::readSizes() {
  model.sharedWord = flag(keys.sharedWord);
  model.vocab =
      config.integer(keys.vocab, defaults.vocab, 1, maxDim, "vocabulary");
  model.vocab =
      roundUp(model.vocab, config.integer(keys.vocabMultiple, 1, 1, 1 << 20));
  if (int64_t own = config.integer(keys.ownVocab, 0, 0, maxDim, "vocabulary");
      own && !model.sharedWord)
    model.vocab = own;
  // Hidden, MLP and embedding sizes.
  model.hidden =
      config.integer(keys.hidden, defaults.hidden, 1, maxDim, "hidden size");
  readLayers();
  int64_t wide =
      std::min(defaults.intermediateThirds * model.hidden / 3, maxDim);
  model.intermediate = config.integer(
      keys.intermediate, defaults.intermediate ? defaults.intermediate : wide,
      1, maxDim / 2, "intermediate size");
  model.embeddingWidth = config.integer(
      keys.embeddingWidth,
      defaults.embeddingWidth ? defaults.embeddingWidth : model.hidden, 1,
      maxDim, "embedding size");
  // Token types, pooler and padding id.
  model.types = defaults.types;
  if (!keys.types.empty())
    model.types =
        config.integer(keys.types, defaults.types, family.typesOptional ? 0 : 1,
                       maxDim, "token types");
  if (int64_t width = config.integer(keys.poolerWidth, model.hidden, 1, maxDim);
      width != model.hidden && !config.failed())
    fail(keys.poolerWidth,
         "'" + std::string(keys.poolerWidth[0]) + "' " + std::to_string(width) +
             " is not supported; supported: the hidden size, " +
             std::to_string(model.hidden),
         Status::Unsupported);
  model.pad = config.integer(keys.pad, defaults.pad, 0, maxDim);
  if (!keys.pad.empty() && model.pad >= model.vocab)
    fail(keys.pad, "the padding id " + std::to_string(model.pad) +
                       " is not in the vocabulary of " +
                       std::to_string(model.vocab) + " tokens");
}

/// Reads the layer count, and assigns the modules with the weights.
void ModelReader::readLayers() {
  int64_t passes = config.integer(keys.layers, defaults.layers, 0, maxLayers);
  if (passes == 0 && family.kind == ModelKind::Decoder)
    fail(keys.layers,
         "a decoder without layers has no cache and is not supported",
         Status::Unsupported);
  if (keys.layerGroups.empty()) {
    model.layers.resize(passes);
    for (int64_t i = 0; i < passes; ++i)
      model.layers[i].module = i;
    return;
  }

  // Assigns passes to groups as the class does, in double.
  int64_t groups = config.integer(keys.layerGroups, 1, 1, maxLayers);
  int64_t inner = config.integer(keys.innerLayers, 1, 1, maxLayers);
  if (passes * inner > maxLayers)
    return fail(keys.innerLayers,
                "more than " + std::to_string(maxLayers) + " layers");
  double share = static_cast<double>(passes) / static_cast<double>(groups);
  for (int64_t i = 0; i < passes; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      LayerConfig layer;
      layer.module = static_cast<int64_t>(static_cast<double>(i) / share);
      layer.inner = j;
      model.layers.push_back(layer);
    }
}

void ModelReader::readHeads() {
  model.heads =
      config.integer(keys.heads, defaults.heads, 1, maxHeads, "heads");
  int64_t all = std::max<int64_t>(model.heads, 1);
  model.kvHeads =
      nullable(keys.kvHeads, defaults.kvHeads ? defaults.kvHeads : all, all,
               maxHeads, "key-value heads");
  int64_t perHead = model.hidden / all;
  model.headDim =
      nullable(keys.headDim, defaults.headDim ? defaults.headDim : perHead,
               perHead, maxHeads, "head size");
  if (config.failed())
    return;
  auto counts = [](const char *name, int64_t value) {
    return "'" + std::string(name) + "' " + std::to_string(value);
  };
  auto nearest = [](int64_t number, int64_t of) {
    return "; the nearest number that does is " +
           std::to_string(getNearestDivisor(number, of));
  };
  if (model.heads % model.kvHeads)
    fail(keys.kvHeads, counts(keys.kvHeads[0], model.kvHeads) +
                           " does not divide " +
                           counts(keys.heads[0], model.heads) +
                           nearest(model.kvHeads, model.heads));
  // A separate head size need not divide the hidden size.
  bool own = !keys.headDim.empty() &&
             (config.find(keys.headDim) ||
              (defaults.headDim && !config.isNull(keys.headDim)));
  model.ownHeadDim = own;
  model.ownKvHeads = config.find(keys.kvHeads).has_value();
  if (!own && model.hidden % model.heads)
    fail(keys.heads, counts(keys.heads[0], model.heads) + " does not divide " +
                         counts(keys.hidden[0], model.hidden) +
                         nearest(model.heads, model.hidden));
  if ((model.heads + 2 * model.kvHeads) * model.headDim > maxDim)
    fail(keys.heads,
         "query, key and value are wider than " + std::to_string(maxDim));
}

void ModelReader::readFeatures() {
  model.epsilon = config.number(keys.epsilon, defaults.epsilon);
  readMlp();
  model.headActivation =
      keys.headActivation.empty()
          ? model.activation
          : config.activation(keys.headActivation, defaults.headActivation);
  // Tied weights, biases and caps.
  model.tied = config.flag(keys.tied, defaults.tied);
  model.qkvBias = flag(keys.qkvBias);
  model.outputBias = flag(keys.outputBias);
  model.mlpBias = flag(keys.mlpBias);
  model.downBias = keys.downBias ? flag(*keys.downBias) : model.mlpBias;
  model.normBias = flag(keys.normBias);
  model.headBias = flag(keys.headBias);
  model.vocabularyBias = flag(keys.vocabularyBias);
  model.attentionCap = cap(keys.attentionCap, defaults.attentionCap);
  model.logitCap = cap(keys.logitCap, defaults.logitCap);
  // Residuals, norms and rope pairing.
  model.parallelResidual = flag(keys.parallelResidual);
  model.parallelNorms =
      config.integer(keys.parallelNorms, defaults.parallelNorms, 1, 2);
  if (flag(keys.headNorms))
    model.headNorms = family.headNorms;
  model.residualFromNorm = config.flag(keys.residualFromNorm, false);
  model.interleavedRope =
      config.flag(keys.interleavedRope, family.interleavedRope);
  model.normPlacement = family.normPlacement;
  if (!keys.normBefore.empty()) {
    bool before = config.flag(keys.normBefore,
                              family.normPlacement == NormPlacement::Pre);
    model.normPlacement = before ? NormPlacement::Pre : NormPlacement::Post;
  }
  model.finalNorm = *family.modules.finalNorm &&
                    model.normPlacement == NormPlacement::Pre &&
                    !config.flag(keys.noFinalNorm, false);
  // Pooler, convolution and supported combinations.
  model.normsHaveWeights = config.flag(keys.normsHaveWeights, true);
  if (!keys.poolerActivation.empty())
    model.poolerActivation = config.activation(keys.poolerActivation, "gelu");
  readConvolution(config, family, model);
  readPooling();
  refuseCombinations();
}

/// Reads the MLP's kind and activation. T5 specifies both as one string, such
/// as `gated-silu`, in which `gelu` in a GLU means the tanh form.
void ModelReader::readMlp() {
  model.mlp = family.mlp;
  if (keys.feedForward.empty()) {
    model.activation = config.activation(keys.activation, defaults.activation);
    return;
  }
  std::string text = config.text(keys.feedForward, defaults.feedForward);
  llvm::StringRef name = text;
  bool gated = name.consume_front("gated-");
  if (gated && name == "gelu")
    name = "gelu_new";
  if (!activationNamed(name.str()).known)
    return fail(keys.feedForward,
                "'" + std::string(keys.feedForward[0]) + "' is '" + text +
                    "'; supported: an activation, or 'gated-' and one",
                Status::Unsupported);
  model.mlp = config.flag(keys.gated, gated) ? MlpKind::Glu : MlpKind::Plain;
  model.activation = config.activation(keys.activation, name.str());
}

/// Rejects features that are supported separately but not together.
void ModelReader::refuseCombinations() {
  const FamilyModules &modules = family.modules;
  auto refuse = [&](const ConfigKey &key, const char *text) {
    fail(key, std::string(text) + " are not supported", Status::Unsupported);
  };
  if (model.parallelResidual &&
      (model.normPlacement == NormPlacement::Post || model.residualFromNorm ||
       *modules.attentionPostNorm || *modules.mlpPostNorm))
    refuse(keys.parallelResidual.key,
           "parallel residuals with norms after attention or MLP, or with "
           "residuals from the norm,");
  if (!model.normsHaveWeights && family.normKind != NormKind::Layer)
    refuse(keys.normsHaveWeights, "RMS norms without weights");
  if (model.headNorms == HeadNorms::Own && family.normKind != NormKind::Layer)
    refuse(keys.headNorms.key, "RMS norms with weights for each head");
  if (family.kind == ModelKind::Decoder &&
      family.positionIndex == PositionIndex::NonpadRank)
    refuse(keys.positions, "positions by rank in a decoder");
}

void ModelReader::readPooling() {
  if (keys.pooling.empty())
    return;
  std::string text = config.text(keys.pooling, family.poolings.front().first);
  std::vector<std::string> names;
  for (const auto &[name, pooling] : family.poolings) {
    names.push_back(name);
    if (text != name)
      continue;
    model.pooling = pooling;
    return;
  }
  fail(keys.pooling,
       "'" + std::string(keys.pooling[0]) + "' is '" + text +
           "'; supported: " + joinNames(names),
       Status::Unsupported);
}

void ModelReader::readPositions() {
  int64_t largest = family.positions == PositionEncoding::Sinusoid
                        ? maxComputedPositions
                        : maxDim - family.positionOffset;
  int64_t positions = config.integer(keys.positions, defaults.positions, 1,
                                     largest, "positions");
  if (config.failed())
    return;
  // Relative positions are independent of the encoding below.
  if (*family.modules.relativeBias)
    readRelativeBias();
  if (*family.modules.relativePositions)
    readRelativePositions(config, family, positions, model);
  model.addsPositions = flag(keys.addsPositions);
  if (!model.addsPositions)
    return;
  // Set positions and context by encoding.
  switch (family.positions) {
  case PositionEncoding::Rope:
    readRopes(positions);
    return;
  case PositionEncoding::Learned:
    model.positions = positions;
    model.context = positions;
    if (family.positionIndex == PositionIndex::NonpadRank)
      *model.context -= model.pad + 1;
    if (*model.context < 1)
      fail(keys.positions, "'" + std::string(keys.positions[0]) + "' " +
                               std::to_string(positions) +
                               " leaves no position after the padding id " +
                               std::to_string(model.pad));
    return;
  case PositionEncoding::Sinusoid:
    model.positions = positions;
    model.context = positions;
    if (family.sinusoid == SinusoidOrder::Fairseq && model.hidden < 4)
      fail(keys.hidden, "'" + std::string(keys.hidden[0]) + "' " +
                            std::to_string(model.hidden) +
                            " is less than 4, the least width of the family's "
                            "positions");
    return;
  case PositionEncoding::Alibi:
    model.slopes = alibiSlopes(model.heads);
    if (family.kind == ModelKind::Encoder)
      model.context = positions;
    return;
  case PositionEncoding::None:
    return;
  }
}

void ModelReader::readRelativeBias() {
  DistanceBuckets &rule = model.relativeBias.rule;
  rule.causal = family.kind == ModelKind::Decoder;
  bool own = !keys.biasDistance.empty();
  int64_t entries =
      config.integer(keys.biasBuckets, defaults.biasBuckets,
                     own ? 1 : defaults.biasBuckets, maxHeads, "buckets");
  model.relativeBias.entries = entries;
  rule.buckets = own ? entries : defaults.biasBuckets;
  rule.distance =
      config.integer(keys.biasDistance, defaults.biasDistance, 1, 1 << 20);

  // The logarithm of distance / exact is a divisor.
  auto counts = [](const ConfigKey &key, int64_t value) {
    return "'" + std::string(key[0]) + "' " + std::to_string(value);
  };
  if (config.failed() || !own)
    return;
  if (rule.getExact() < 1)
    fail(keys.biasBuckets, counts(keys.biasBuckets, entries) +
                               " is too few; the least are " +
                               (rule.causal ? "2" : "4"));
  else if (rule.distance <= rule.getExact())
    fail(keys.biasDistance,
         counts(keys.biasDistance, rule.distance) + " is not above " +
             std::to_string(rule.getExact()) + ", the distances that " +
             counts(keys.biasBuckets, entries) + " tells apart");
}

/// Reads one rope for all layers, or one each for layers with and without a
/// window.
void ModelReader::readRopes(int64_t positions) {
  RopeKeys rope = {keys.theta, defaults.theta, ""};
  if (family.ropeByLayerType)
    rope.layerType = "full_attention";
  model.ropes.push_back(
      readRope(config, family, rope, {model.headDim, positions}));
  model.context = model.ropes[0].context;
  if (!family.ropeByLayerType)
    return;
  rope = {keys.localTheta, defaults.localTheta, "sliding_attention",
          family.scalesLocalRope};
  model.ropes.push_back(
      readRope(config, family, rope, {model.headDim, positions}));
  model.context = std::min(*model.context, model.ropes[1].context);
}

void ModelReader::readScales() {
  double width = std::sqrt(static_cast<double>(model.hidden));
  model.embeddingScale = config.number(keys.embeddingScale,
                                       flag(keys.scaledEmbedding) ? width : 1);
  model.residualScale = config.number(keys.residualScale, 1);

  // Read the head's scale.
  double divisor = config.number(keys.logitDivisor, 1);
  if (!(divisor > 0))
    return fail(keys.logitDivisor,
                "'" + std::string(keys.logitDivisor[0]) + "' must be above 0");
  model.headScale = config.number(keys.logitScale, defaults.logitScale);
  model.headScale /= divisor;
  if (!keys.scaledHead.empty() &&
      config.flag(keys.scaledHead, config.flag({"tie_word_embeddings"}, true)))
    model.headScale /= width;
  readScoreScales();
}

void ModelReader::readScoreScales() {
  double scalar = config.number(keys.queryScalar, defaults.queryScalar);
  if (!keys.queryScalar.empty() && !(scalar > 0))
    return fail(keys.queryScalar,
                "'" + std::string(keys.queryScalar[0]) + "' must be above 0");
  double width = scalar > 0 ? scalar : static_cast<double>(model.headDim);
  width *= static_cast<double>(model.relativePositions.getNumProducts());
  double scale = config.flag(keys.scaleScores, true) ? 1 / std::sqrt(width) : 1;
  if (!keys.scoreScale.empty())
    scale = config.number(keys.scoreScale, defaults.scoreScale);
  bool byLayer = config.flag(keys.scaleByLayer, false);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].scale =
        byLayer ? scale / static_cast<double>(i + 1) : scale;
  if (family.scaledAlibi)
    for (double &slope : model.slopes)
      slope *= scale;
}

ModelConfig ModelReader::read() {
  readSizes();
  readHeads();
  readFeatures();
  readPositions();
  readScales();
  readLayerPattern(config, family, model);
  return std::move(model);
}

ModelConfig transom::readModelConfig(Config &config,
                                     const ModelFamily &family) {
  return ModelReader(config, family).read();
}
