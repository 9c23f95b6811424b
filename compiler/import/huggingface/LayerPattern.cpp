// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A config lists the layers individually, or a family rule selects them.
#include "compiler/import/huggingface/LayerPattern.h"
#include "compiler/import/Limits.h"
#include <algorithm>

using namespace transom;

namespace {

/// Reads one model's pattern.
class PatternReader {
public:
  PatternReader(Config &config, const ModelFamily &family, ModelConfig &model)
      : config(config), family(family), keys(family.keys),
        defaults(family.defaults), model(model) {}
  void read();

private:
  std::vector<bool> readRopeLayers();
  std::optional<std::vector<bool>> readLayerTypes();
  std::vector<bool> windowedByRule(const std::vector<bool> &rope);
  std::vector<bool> windowedLayers(const std::vector<bool> &rope, bool on);
  /// Returns the window for layers that have one; 0 = none.
  int64_t readWindow();

  Config &config;
  const ModelFamily &family;
  const FamilyKeys &keys;
  const FamilyDefaults &defaults;
  ModelConfig &model;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

/// Returns which layers have rope.
std::vector<bool> PatternReader::readRopeLayers() {
  std::vector<bool> rope(model.layers.size(), true);
  if (keys.ropePeriod.empty())
    return rope;
  // By default the last layer in each period has no rope.
  int64_t period =
      config.integer(keys.ropePeriod, defaults.ropePeriod, 1, maxDim);
  for (size_t i = 0; i < rope.size(); ++i)
    rope[i] = (static_cast<int64_t>(i) + 1) % period != 0;
  // A list takes precedence.
  std::optional<JsonValue> listed = config.find(keys.ropeLayers);
  if (!listed)
    return rope;
  Result<std::vector<int64_t>> flags = listed->asIntArray(0, 1);
  if (!flags) {
    config.fail(flags.takeError());
    return rope;
  }
  if (flags->size() < rope.size()) {
    config.fail(listed->error("'" + std::string(keys.ropeLayers[0]) +
                              "' names " + std::to_string(flags->size()) +
                              " layers, '" + keys.layers[0] + "' is " +
                              std::to_string(rope.size())));
    return rope;
  }
  for (size_t i = 0; i < rope.size(); ++i)
    rope[i] = (*flags)[i] != 0;
  return rope;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Returns which layers have a window according to `layer_types`.
std::optional<std::vector<bool>> PatternReader::readLayerTypes() {
  std::optional<JsonValue> types = config.find({"layer_types"});
  if (!types)
    return std::nullopt;
  // There must be one type per layer.
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
  // Convert the type names.
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

/// Returns which layers have a window according to the family's rule.
std::vector<bool> PatternReader::windowedByRule(const std::vector<bool> &rope) {
  // Read the config values that the rule needs.
  std::vector<bool> windowed(model.layers.size());
  int64_t first = 0, period = 1;
  if (family.windows == WindowLayers::FromLayer)
    first = config.integer({"max_window_layers"}, defaults.firstWindowLayer, 0,
                           maxDim);
  if (!keys.windowPeriod.empty())
    period =
        config.integer(keys.windowPeriod, defaults.windowPeriod, 1, maxDim);
  period = std::max<int64_t>(period, 1);

  // Apply the rule to each layer.
  for (size_t i = 0; i < windowed.size(); ++i) {
    auto number = static_cast<int64_t>(i);
    switch (family.windows) {
    case WindowLayers::None:
      break;
    case WindowLayers::All:
      windowed[i] = true;
      break;
    case WindowLayers::FromLayer:
      windowed[i] = number >= first;
      break;
    case WindowLayers::Even:
      windowed[i] = number % 2 == 0;
      break;
    case WindowLayers::NotEveryNth:
      windowed[i] = number % period != 0;
      break;
    case WindowLayers::NotLastOfN:
      windowed[i] = (number + 1) % period != 0;
      break;
    case WindowLayers::WithoutRope:
      windowed[i] = !rope[i];
      break;
    }
  }
  return windowed;
}

/// Returns which layers have a window if there is one (`on`).
std::vector<bool> PatternReader::windowedLayers(const std::vector<bool> &rope,
                                                bool on) {
  std::vector<bool> windowed = windowedByRule(rope);
  std::optional<std::vector<bool>> types = readLayerTypes();
  if (!types)
    return windowed;
  bool some = std::find(types->begin(), types->end(), true) != types->end();
  if (family.windows == WindowLayers::WithoutRope && some && !on)
    config.fail(config.find({"layer_types"})
                    ->error("layers with a window, of which "
                            "'use_sliding_window' or '" +
                            std::string(keys.window[0]) +
                            "' says there are "
                            "none"));
  if (family.windows != WindowLayers::All)
    return *types;
  if (on && *types != windowed)
    config.fail(config.find({"layer_types"})
                    ->error("layers without a window beside 'sliding_window' "
                            "are not supported with model_type '" +
                                std::string(family.modelType) + "'",
                            Status::Unsupported));
  return windowed;
}

int64_t PatternReader::readWindow() {
  const ConfigKey &key = keys.window;
  int64_t window = config.isNull(key)
                       ? 0
                       : config.integer(key, defaults.window,
                                        defaults.window ? 1 : 0, maxDim);
  bool bySwitch = family.windows == WindowLayers::FromLayer ||
                  family.windows == WindowLayers::WithoutRope;
  if (bySwitch && !config.flag({"use_sliding_window"}, false))
    window = 0;
  if (window && family.windowSize == WindowSize::Total)
    window = window / 2 + 1;
  return window;
}

void PatternReader::read() {
  std::vector<bool> rope = readRopeLayers();
  std::vector<bool> windowed(model.layers.size());
  int64_t window = 0;
  if (family.windows != WindowLayers::None) {
    window = readWindow();
    windowed = windowedLayers(rope, window > 0);
  }
  if (config.failed())
    return;
  // A window with the max sequence length hides nothing.
  bool hides = !model.context || window < *model.context;
  for (size_t i = 0; i < windowed.size(); ++i) {
    LayerConfig &layer = model.layers[i];
    layer.window = windowed[i] && hides ? window : 0;
    layer.rope.reset();
    if (rope[i])
      layer.rope = windowed[i] && family.ropeByLayerType ? 1 : 0;
  }
}

void transom::readLayerPattern(Config &config, const ModelFamily &family,
                               ModelConfig &model) {
  PatternReader(config, family, model).read();
}
