// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frequencies for the scaling types that checkpoints use. All arithmetic is in
// double; a config may use either spelling with the same result.
#include "compiler/import/huggingface/Rope.h"
#include "runtime/base/Suggest.h"
#include <cmath>

using namespace transom;

/// Max position count: the position table has a row for each 256 positions.
static constexpr int64_t maxContext = 1 << 24;
/// The rope type with frequency divisors given in the file. It only occurs in
/// configs created from other formats.
static constexpr const char *frequencyFactors = "frequency_factors";
static constexpr double pi = 3.14159265358979323846;

namespace {

/// Keys in the scaling object; empty without one.
class RopeObject {
public:
  RopeObject(Config &config, std::optional<JsonValue> object)
      : config(config), object(object) {}

  std::optional<JsonValue> find(const char *key) const {
    std::optional<JsonValue> value = object ? object->find(key) : std::nullopt;
    return value && value->isNull() ? std::nullopt : value;
  }
  /// Reads a finite number >= `low`; an error if it is missing and `absent` is
  /// negative.
  double number(const char *key, double absent, double low) {
    std::optional<JsonValue> value = find(key);
    if (!value) {
      if (absent < 0)
        config.fail((object ? *object : config.root())
                        .error("missing key '" + std::string(key) + "'"));
      return absent;
    }
    Result<double> number = value->asDouble();
    if (number && std::isfinite(*number) && *number >= low)
      return *number;
    config.fail(number ? value->error("expected a finite number of at least " +
                                      std::to_string(low))
                       : number.takeError());
    return absent;
  }
  bool flag(const char *key, bool absent) {
    std::optional<JsonValue> value = find(key);
    if (!value)
      return absent;
    Result<bool> set = value->asBool();
    if (!set)
      config.fail(set.takeError());
    return set ? *set : absent;
  }
  /// Returns the location for errors about the object.
  JsonValue at() const { return object ? *object : config.root(); }

private:
  Config &config;
  std::optional<JsonValue> object;
};

/// Unscaled values that all scaling types start from.
struct Plain {
  double theta;
  int64_t size;      ///< head elements in the rotated fraction
  int64_t positions; ///< in the config
  double original;   ///< positions before scaling

  double frequency(int64_t pair) const {
    return std::pow(theta, -2.0 * static_cast<double>(pair) /
                               static_cast<double>(size));
  }
};

} // namespace

/// Notes unknown members in a rope object.
static void checkMembers(Config &config, JsonValue object) {
  static const std::vector<const char *> known = {
      "rope_type",       "type",
      "rope_theta",      "partial_rotary_factor",
      "factor",          "original_max_position_embeddings",
      "low_freq_factor", "high_freq_factor",
      "beta_fast",       "beta_slow",
      "mscale",          "mscale_all_dim",
      "truncate",        "attention_factor",
      "short_factor",    "long_factor",
      "finetuned",       "mixed_b",
      "factors"};
  config.checkMembers(object, known);
}

/// Returns the object in `rope_parameters` for layers of one type.
static std::optional<JsonValue> findByLayerType(Config &config,
                                                JsonValue object,
                                                const std::string &layerType) {
  for (JsonValue::Member member : object.members())
    if (member.key != "full_attention" && member.key != "sliding_attention")
      config.fail(member.value.error(
          "unsupported type of layer '" + std::string(member.key) +
              "'; supported: full_attention, sliding_attention",
          Status::Unsupported));
  std::optional<JsonValue> own = object.find(layerType);
  if (!own || own->isNull())
    return std::nullopt;
  if (Result<void> kind = own->expectObject(); !kind) {
    config.fail(kind.takeError());
    return std::nullopt;
  }
  checkMembers(config, *own);
  return own;
}

/// `rope_scaling` takes precedence if both exist.
static std::optional<JsonValue> findScaling(Config &config,
                                            const RopeKeys &keys) {
  const std::string &layerType = keys.layerType;
  std::optional<JsonValue> scaling = config.find({"rope_scaling"}),
                           parameters = config.find({"rope_parameters"});
  // An empty `rope_scaling` is ignored.
  bool empty = scaling && scaling->isObject() && scaling->size() == 0;
  bool flat = scaling && !empty && keys.takesScaling;
  std::optional<JsonValue> object = flat ? scaling : parameters;
  if (!object)
    return std::nullopt;
  if (!layerType.empty() && parameters && scaling && !empty)
    config.fail(scaling->error("'rope_scaling' beside 'rope_parameters' of a "
                               "model whose rope differs by layer is not "
                               "supported",
                               Status::Unsupported));
  if (Result<void> kind = object->expectObject(); !kind) {
    config.fail(kind.takeError());
    return std::nullopt;
  }
  // Select the object for the layer type; otherwise reject nested objects.
  if (!layerType.empty() && !flat)
    return findByLayerType(config, *object, layerType);
  for (JsonValue::Member member : object->members())
    if (member.value.isObject())
      config.fail(member.value.error(
          "rope that differs by layer is not supported", Status::Unsupported));
  checkMembers(config, *object);
  return object;
}

static std::string readType(Config &config, const ModelFamily &family,
                            const RopeObject &keys) {
  std::optional<JsonValue> value = keys.find("rope_type");
  if (!value)
    value = keys.find("type");
  if (!value)
    return "default";
  Result<std::string_view> text = value->asString();
  if (!text) {
    config.fail(text.takeError());
    return "default";
  }
  if (*text == frequencyFactors)
    return frequencyFactors;
  std::vector<std::string> names(family.ropeTypes.begin(),
                                 family.ropeTypes.end());
  for (const std::string &name : names)
    if (*text == name)
      return name;
  std::string why = "; supported: " + joinNames(names);
  if (*text == "longrope" || *text == "su")
    why = ": its frequencies depend on how much text there is at once" + why;
  config.fail(value->error("unsupported type of rope '" + std::string(*text) +
                               "'" + why,
                           Status::Unsupported));
  return "default";
}

/// Returns the element count per head that the fraction specifies; 0 = no
/// positions. An odd count rotates (count + 1) / 2 pairs.
static int64_t readSize(Config &config, const ModelFamily &family,
                        RopeObject &keys, int64_t headDim) {
  double share =
      config.number(family.keys.ropeFraction, family.defaults.ropeFraction);
  share = keys.number("partial_rotary_factor", share, 0);
  if (config.failed())
    return 2;
  // Errors are located at the key that specifies the fraction.
  std::optional<JsonValue> said = keys.find("partial_rotary_factor");
  if (!said)
    said = config.find(family.keys.ropeFraction);
  JsonValue at = said ? *said : keys.at();
  if (!family.partialRope && share != 1)
    config.fail(at.error("a rotated share of " + std::to_string(share) +
                             " of each head; supported with model_type '" +
                             family.modelType + "': 1",
                         Status::Unsupported));
  // Check that the fraction gives a supported size.
  auto size =
      static_cast<int64_t>(static_cast<double>(headDim) * std::min(share, 2.0));
  if (family.wholeRope &&
      static_cast<double>(headDim) * share != static_cast<double>(size))
    config.fail(at.error(
        "rope turns " + std::to_string(static_cast<double>(headDim) * share) +
            " numbers of each head; supported: a whole count",
        Status::Unsupported));
  int64_t turned = size + size % 2;
  if (turned > headDim)
    config.fail(at.error("rope turns " + std::to_string(turned) +
                         " numbers of a head of " + std::to_string(headDim)));
  return size;
}

/// Low frequencies are divided by the factor, high ones are unchanged, and
/// those between are blended (Llama 3.1).
static void scaleLlama3(Config &config, RopeObject &keys, const Plain &plain,
                        Rope &rope) {
  double factor = keys.number("factor", -1, 1);
  double low = keys.number("low_freq_factor", -1, 0);
  double high = keys.number("high_freq_factor", -1, 0);
  if (config.failed())
    return;
  if (!(low > 0 && high > low))
    return config.fail(
        keys.at().error("'high_freq_factor' " + std::to_string(high) +
                        " is not above 'low_freq_factor' " +
                        std::to_string(low) + " and both above 0"));
  for (double &f : rope.frequencies) {
    double wave = 2 * pi / f;
    double smooth = (plain.original / wave - low) / (high - low);
    smooth = std::min(std::max(smooth, 0.0), 1.0);
    f = (1 - smooth) * f / factor + smooth * f;
  }
}

static double yarnScale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

/// Returns the factor for cosines and sines (Peng et al. 2023, 3.4).
static double yarnFactor(RopeObject &keys, double factor) {
  if (keys.find("attention_factor"))
    return keys.number("attention_factor", 1, 0);
  double own = keys.number("mscale", 0, 0),
         all = keys.number("mscale_all_dim", 0, 0);
  if (own > 0 && all > 0)
    return yarnScale(factor, own) / yarnScale(factor, all);
  return yarnScale(factor, 1);
}

/// A ramp over the pairs from unscaled to scaled (Peng et al. 2023, 3.2).
static void scaleYarn(Config &config, RopeObject &keys, const Plain &plain,
                      Rope &rope) {
  double positions = static_cast<double>(plain.positions);
  double factor = keys.find("factor") ? keys.number("factor", 1, 0)
                                      : positions / plain.original;
  double fast = keys.number("beta_fast", 32, 0),
         slow = keys.number("beta_slow", 1, 0);
  rope.factor = yarnFactor(keys, factor);
  bool whole = keys.flag("truncate", true);
  if (config.failed())
    return;
  if (!(factor > 0 && fast > 0 && slow > 0 && plain.theta != 1))
    return config.fail(keys.at().error(
        "'factor', 'beta_fast' and 'beta_slow' must be above 0, and "
        "'rope_theta' not 1"));
  double size = static_cast<double>(plain.size);
  // Returns the pair that rotates `turns` times over the original positions.
  auto getPair = [&](double turns) {
    return size * std::log(plain.original / (turns * 2 * pi)) /
           (2 * std::log(plain.theta));
  };
  double low = getPair(fast), high = getPair(slow);
  if (whole) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, size - 1);
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    double ramp = (static_cast<double>(i) - low) / (high - low);
    ramp = std::min(std::max(ramp, 0.0), 1.0);
    double f = rope.frequencies[i];
    rope.frequencies[i] = f / factor * ramp + f * (1 - ramp);
  }
  rope.context = std::max(
      rope.context, static_cast<int64_t>(std::min(plain.original * factor,
                                                  double(maxContext) + 1)));
}

static void scaleLinear(Config &config, RopeObject &keys, Rope &rope) {
  double factor = keys.number("factor", -1, 0);
  if (config.failed())
    return;
  if (!(factor > 0))
    return config.fail(keys.find("factor")->error("'factor' must be above 0"));
  for (double &f : rope.frequencies)
    f /= factor;
  double context = static_cast<double>(rope.context) * std::max(factor, 1.0);
  rope.context =
      static_cast<int64_t>(std::min(context, double(maxContext) + 1));
}

/// A larger base, and a second division of all frequencies (NTK-aware scaling
/// as in GTE); with `mixed_b` a divisor for each pair instead. A factor <= 1
/// has no effect.
static void scaleNtk(Config &config, RopeObject &keys, const Plain &plain,
                     Rope &rope) {
  double factor = keys.number("factor", -1, 0);
  bool mixed = keys.find("mixed_b").has_value();
  double power = keys.number("mixed_b", 1, 0);
  if (config.failed() || factor <= 1)
    return;
  double size = static_cast<double>(plain.size);
  double share = std::log(factor) / std::pow(size / 2, power);
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    double pair = static_cast<double>(i);
    rope.frequencies[i] *= mixed ? std::exp(-share * std::pow(pair + 1, power))
                                 : std::pow(factor, -2 * pair / size) *
                                       std::pow(factor, -2 / size);
  }
  double context = static_cast<double>(rope.context) * factor;
  rope.context =
      static_cast<int64_t>(std::min(context, double(maxContext) + 1));
}

/// Divides each frequency by its own number.
static void divideFrequencies(Config &config, RopeObject &keys, Rope &rope) {
  std::optional<JsonValue> factors = keys.find("factors");
  if (!factors || factors->size() != rope.frequencies.size())
    return config.fail(keys.at().error(
        "expected 'factors' with " + std::to_string(rope.frequencies.size()) +
        " numbers, got " + std::to_string(factors ? factors->size() : 0)));
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    Result<double> factor = (*factors)[i].asDouble();
    if (!factor)
      return config.fail(factor.takeError());
    rope.frequencies[i] /= *factor;
  }
}

Rope transom::readRope(Config &config, const ModelFamily &family,
                       const RopeKeys &ropeKeys, const RopeSizes &sizes) {
  RopeObject keys(config, findScaling(config, ropeKeys));
  std::string type = readType(config, family, keys);
  // Read base, size and original length.
  int64_t positions = sizes.positions;
  Plain plain = {config.number(ropeKeys.theta, ropeKeys.absentTheta), 2,
                 positions, static_cast<double>(positions)};
  plain.theta = keys.number("rope_theta", plain.theta, 0);
  plain.size = readSize(config, family, keys, sizes.headDim);
  if (type == "llama3" || type == "yarn") {
    plain.original =
        keys.number("original_max_position_embeddings", plain.original, 1);
    plain.original =
        config.number({"original_max_position_embeddings"}, plain.original);
  }
  if (!config.failed() && !(plain.theta > 0 && plain.original >= 1))
    config.fail(keys.at().error("'rope_theta' and the original number of "
                                "positions must be above 0"));
  // Compute unscaled frequencies, then scale them.
  Rope rope;
  rope.context = positions;
  if (config.failed())
    return rope;
  for (int64_t i = 0; i < (plain.size + 1) / 2; ++i)
    rope.frequencies.push_back(plain.frequency(i));
  if (type == "llama3")
    scaleLlama3(config, keys, plain, rope);
  else if (type == "yarn")
    scaleYarn(config, keys, plain, rope);
  else if (type == "linear")
    scaleLinear(config, keys, rope);
  else if (type == "ntk")
    scaleNtk(config, keys, plain, rope);
  else if (type == frequencyFactors)
    divideFrequencies(config, keys, rope);
  else if (type == "dynamic")
    keys.number("factor", -1, 0); // no effect up to the training length
  // Check the results.
  if (!config.failed() && rope.context > maxContext)
    config.fail(keys.at().error("more than " + std::to_string(maxContext) +
                                    " positions are not supported",
                                Status::Unsupported));
  for (double f : rope.frequencies)
    if (!config.failed() && !std::isfinite(f))
      config.fail(keys.at().error("a frequency is not finite"));
  return rope;
}
