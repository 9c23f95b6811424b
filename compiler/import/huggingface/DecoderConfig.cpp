// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of decoders' configs. Null and absent differ where the classes of
// transformers make them differ: an absent `sliding_window` has the class's
// default, a null one is no window.
#include "compiler/import/huggingface/DecoderConfig.h"
#include <cmath>

using namespace transom;

/// Caps of inputs.md, and of what a config alone may make large.
static constexpr int64_t maxLayers = 4096;
static constexpr int64_t maxDim = INT32_MAX;
static constexpr int64_t maxHeads = 65536;

std::vector<double> transom::alibiSlopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads)
    power *= 2;
  std::vector<double> slopes;
  auto slope = [](int64_t number, int64_t of) {
    return std::exp2(-8.0 * static_cast<double>(number) /
                     static_cast<double>(of));
  };
  for (int64_t i = 1; i <= power; ++i)
    slopes.push_back(slope(i, power));
  for (int64_t i = 1; int64_t(slopes.size()) < heads; i += 2)
    slopes.push_back(slope(i, 2 * power));
  return slopes;
}

namespace {

/// Reads one config by one row into a model.
class DecoderReader {
public:
  DecoderReader(Config &config, const DecoderFamily &family)
      : config(config), family(family), keys(family.keys),
        absent(family.defaults) {}
  DecoderModel read();

private:
  void readSizes();
  void readHeads();
  void readFeatures();
  void readPositions();
  void readScales();
  void readWindows();
  std::vector<bool> windowedLayers(bool on);
  std::optional<std::vector<bool>> readLayerTypes();

  /// An integer of which null means `null`, and absence the default.
  int64_t nullable(const ConfigKey &key, int64_t absent, int64_t null,
                   int64_t high);
  /// A number that null or 0 switches off.
  double cap(const ConfigKey &key, double absent);
  bool bias(const BiasRule &rule);
  void fail(const ConfigKey &key, const std::string &text,
            Status status = Status::Rejected);

  Config &config;
  const DecoderFamily &family;
  const DecoderKeys &keys;
  const DecoderDefaults &absent;
  DecoderModel model;
};

} // namespace

void DecoderReader::fail(const ConfigKey &key, const std::string &text,
                         Status status) {
  std::optional<JsonValue> value = config.find(key);
  config.fail((value ? *value : config.root()).error(text, status));
}

int64_t DecoderReader::nullable(const ConfigKey &key, int64_t absent,
                                int64_t null, int64_t high) {
  return config.isNull(key) ? null : config.integer(key, absent, 1, high);
}

double DecoderReader::cap(const ConfigKey &key, double absent) {
  return config.isNull(key) ? 0 : config.number(key, absent);
}

bool DecoderReader::bias(const BiasRule &rule) {
  return config.flag(rule.key, rule.absent);
}

void DecoderReader::readSizes() {
  model.vocab = config.integer({"vocab_size"}, absent.vocab, 1, maxDim);
  model.hidden = config.integer(keys.hidden, absent.hidden, 1, maxDim);
  model.layers.resize(config.integer(keys.layers, absent.layers, 0, maxLayers));
  if (model.layers.empty())
    fail(keys.layers, "a decoder without layers has no cache and is not built",
         Status::Unsupported);
  int64_t wide = std::min(4 * model.hidden, maxDim);
  model.intermediate = config.integer(
      keys.intermediate, absent.intermediate ? absent.intermediate : wide, 1,
      maxDim / 2);
  model.embeddingWidth =
      config.integer(keys.embeddingWidth, model.hidden, 1, maxDim);
}

void DecoderReader::readHeads() {
  model.heads = config.integer(keys.heads, absent.heads, 1, maxHeads);
  int64_t all = std::max<int64_t>(model.heads, 1);
  model.kvHeads = nullable(keys.kvHeads, absent.kvHeads ? absent.kvHeads : all,
                           all, maxHeads);
  int64_t share = model.hidden / all;
  model.headDim = nullable(
      keys.headDim, absent.headDim ? absent.headDim : share, share, maxHeads);
  if (config.failed())
    return;
  auto counts = [](const char *name, int64_t value) {
    return "'" + std::string(name) + "' " + std::to_string(value);
  };
  if (model.heads % model.kvHeads)
    fail(keys.kvHeads, counts(keys.kvHeads[0], model.kvHeads) +
                           " does not divide " +
                           counts(keys.heads[0], model.heads));
  bool own = !keys.headDim.empty() &&
             (config.find(keys.headDim) ||
              (absent.headDim && !config.isNull(keys.headDim)));
  if (!own && model.hidden % model.heads)
    fail(keys.heads, counts(keys.heads[0], model.heads) + " does not divide " +
                         counts(keys.hidden[0], model.hidden));
  if ((model.heads + 2 * model.kvHeads) * model.headDim > maxDim)
    fail(keys.heads,
         "query, key and value are wider than " + std::to_string(maxDim));
}

void DecoderReader::readFeatures() {
  model.epsilon = config.number(keys.epsilon, absent.epsilon);
  model.activation = config.activation(keys.activation, absent.activation);
  model.tied = config.flag({"tie_word_embeddings"}, absent.tied);
  model.qkvBias = bias(keys.qkvBias);
  model.attentionOutBias = bias(keys.attentionOutBias);
  model.mlpBias = bias(keys.mlpBias);
  model.attentionCap = cap(keys.attentionCap, absent.attentionCap);
  model.logitCap = cap(keys.logitCap, absent.logitCap);
  model.parallelResidual = !keys.parallelResidual.empty() &&
                           config.flag(keys.parallelResidual, true);
  model.residualFromNorm = config.flag(keys.residualFromNorm, false);
  bool before = config.flag(keys.normBefore, true);
  model.norms = before ? NormPlace::Before : NormPlace::After;
  model.finalNorm = before && !config.flag(keys.noFinalNorm, false);
  model.normsHaveWeights = config.flag(keys.normsHaveWeights, true);
}

void DecoderReader::readPositions() {
  int64_t largest = maxDim - family.positionOffset;
  int64_t positions =
      config.integer(keys.positions, absent.positions, 1, largest);
  if (config.failed())
    return;
  switch (family.positions) {
  case DecoderPositions::Rotary:
    model.rotary = readRotary(config, family, model.headDim, positions);
    model.context = model.rotary.context;
    return;
  case DecoderPositions::Learned:
    model.positions = positions;
    model.context = positions;
    return;
  case DecoderPositions::Alibi:
    model.slopes = alibiSlopes(model.heads);
    return;
  }
}

void DecoderReader::readScales() {
  double scalar = config.number(keys.queryScalar, absent.queryScalar);
  if (!keys.queryScalar.empty() && !(scalar > 0))
    return fail(keys.queryScalar,
                "'" + std::string(keys.queryScalar[0]) + "' must be above 0");
  double width = scalar > 0 ? scalar : static_cast<double>(model.headDim);
  double scale = config.flag(keys.scaleScores, true) ? 1 / std::sqrt(width) : 1;
  bool byLayer = config.flag(keys.scaleByLayer, false);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].scale =
        byLayer ? scale / static_cast<double>(i + 1) : scale;
}

/// Which layers `layer_types` gives a window.
std::optional<std::vector<bool>> DecoderReader::readLayerTypes() {
  std::optional<JsonValue> types = config.find({"layer_types"});
  if (!types)
    return std::nullopt;
  Result<std::vector<std::string>> names = types->asStringArray();
  if (!names) {
    config.fail(names.takeError());
    return std::nullopt;
  }
  if (names->size() != model.layers.size()) {
    config.fail(types->error(
        "'layer_types' names " + std::to_string(names->size()) + " layers, '" +
        keys.layers[0] + "' is " + std::to_string(model.layers.size())));
    return std::nullopt;
  }
  std::vector<bool> windowed;
  for (size_t i = 0; i < names->size(); ++i) {
    windowed.push_back((*names)[i] == "sliding_attention");
    if (!windowed.back() && (*names)[i] != "full_attention")
      config.fail((*types)[i].error("unsupported type of layer '" +
                                        (*names)[i] +
                                        "'; supported: full_attention, "
                                        "sliding_attention",
                                    Status::Unsupported));
  }
  return windowed;
}

/// The layers that have a window when there is one (`on`).
std::vector<bool> DecoderReader::windowedLayers(bool on) {
  std::vector<bool> windowed(model.layers.size());
  std::optional<std::vector<bool>> types = readLayerTypes();
  int64_t first = 0;
  if (family.window == WindowRule::FromLayer)
    first = config.integer({"max_window_layers"}, absent.firstWindowLayer, 0,
                           maxDim);
  for (size_t i = 0; i < windowed.size(); ++i)
    windowed[i] = family.window == WindowRule::All ? true
                  : family.window == WindowRule::EvenLayers
                      ? i % 2 == 0
                      : int64_t(i) >= first;
  if (!types)
    return windowed;
  if (family.window == WindowRule::All && on && *types != windowed)
    fail({"layer_types"},
         "layers without a window beside 'sliding_window' are not built with "
         "model_type '" +
             std::string(family.modelType) + "'",
         Status::Unsupported);
  return family.window == WindowRule::All ? windowed : *types;
}

void DecoderReader::readWindows() {
  if (family.window == WindowRule::None)
    return;
  const ConfigKey key = {"sliding_window"};
  int64_t window =
      config.isNull(key)
          ? 0
          : config.integer(key, absent.window, absent.window ? 1 : 0, maxDim);
  if (family.window == WindowRule::FromLayer &&
      !config.flag({"use_sliding_window"}, false))
    window = 0;
  std::vector<bool> windowed = windowedLayers(window > 0);
  // A window that no sequence outgrows is none.
  if (config.failed() || (model.context && window >= *model.context))
    return;
  for (size_t i = 0; i < windowed.size(); ++i)
    model.layers[i].window = windowed[i] ? window : 0;
}

DecoderModel DecoderReader::read() {
  readSizes();
  readHeads();
  readFeatures();
  readPositions();
  readScales();
  readWindows();
  return std::move(model);
}

DecoderModel transom::readDecoder(Config &config, const DecoderFamily &family) {
  return DecoderReader(config, family).read();
}
