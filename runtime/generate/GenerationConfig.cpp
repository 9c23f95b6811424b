// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The artifact's settings were checked at compile time, so parse errors have no
// positions; callers' values are checked in `resolve`.
#include "runtime/generate/GenerationConfig.h"
#include "runtime/generate/GenerationOptions.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace transom;

namespace {

/// Reads object members into options; stores the first error.
class OptionReader {
public:
  explicit OptionReader(JsonValue root) : root(root) {}

  /// Leaves `out` unchanged if the key is absent.
  template <typename T> void read(const char *key, T &out) {
    if (auto value = root.find(key))
      readValue(*value, out);
  }
  Result<void> done() { return std::move(result); }

private:
  void readValue(JsonValue value, int64_t &out) { take(value.asInt(), out); }
  void readValue(JsonValue value, double &out) { take(value.asDouble(), out); }
  void readValue(JsonValue value, bool &out) { take(value.asBool(), out); }
  void readValue(JsonValue value, std::vector<int64_t> &out) {
    take(value.asIntArray(std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::max()),
         out);
  }
  void readValue(JsonValue value, EarlyStopping &out) {
    bool flag = false;
    if (value.isString())
      out = EarlyStopping::Never;
    else if (take(value.asBool(), flag); flag)
      out = EarlyStopping::True;
  }
  void readValue(JsonValue value, std::vector<std::vector<int64_t>> &out) {
    for (JsonValue element : value.elements())
      readValue(element, out.emplace_back());
  }
  void readValue(JsonValue value, std::vector<std::string> &out) {
    take(value.asStringArray(), out);
  }
  template <typename T> void readValue(JsonValue value, std::optional<T> &out) {
    readValue(value, out.emplace());
  }

  template <typename T> void take(Result<T> value, T &out) {
    if (value)
      out = std::move(*value);
    else if (result)
      result = value.takeError();
  }

  JsonValue root;
  Result<void> result;
};

} // namespace

Result<GenerationConfig> GenerationConfig::parse(std::string_view json) {
  GenerationConfig config;
  if (json.empty())
    return config;
  TRANSOM_ASSIGN(JsonDocument document, parseJson(json, "generation settings"));
  TRANSOM_TRY(document.root().expectObject());
  OptionReader reader(document.root());
  visitGenerationOptions(
      [&](const GenerationOption &option, auto member, auto) {
        reader.read(option.key, config.*member);
      });
  reader.read("unsupported", config.unsupported);
  reader.read("unsupported_sampling", config.unsupportedSampling);
  TRANSOM_TRY(reader.done());
  // If a file enables sampling without top_k, transformers' class default
  // applies.
  if (config.sample.value_or(false) && !config.topK)
    config.topK = 50;
  return config;
}

static std::string getText(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// Returns an error unless low <= value <= high.
static Result<void> checkRange(const char *key, double value, double low,
                               double high) {
  if (value >= low && value <= high)
    return {};
  std::string range =
      high == GenerationOption::unbounded
          ? "at least " + getText(low)
          : "a number in [" + getText(low) + ", " + getText(high) + "]";
  return usageError("'" + std::string(key) + "' has to be " + range + ", got " +
                    getText(value));
}

/// Returns a numeric option's value; nullopt if it is unset or not numeric.
template <typename T> static std::optional<double> getNumber(const T &value) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                std::is_enum_v<T>)
    return double(value);
  return std::nullopt;
}
template <typename T>
static std::optional<double> getNumber(const std::optional<T> &value) {
  return value ? getNumber(*value) : std::nullopt;
}

/// Checks the settings that are not in the option table.
static Result<void> checkOthers(const GenerationConfig &config) {
  TRANSOM_TRY(checkRange("top_logprobs", double(config.topLogprobs), -1, 1024));
  for (auto [token, bias] : config.logitBias)
    if (!(bias <= 1e6 && (bias >= -1e6 || std::isinf(bias))))
      return usageError("the logit bias of token " + std::to_string(token) +
                        " has to be in [-1e6, 1e6] or -inf, got " +
                        getText(bias));
  for (const std::string &stop : config.stopStrings)
    if (stop.empty())
      return usageError("a stop string is empty");
  return {};
}

/// Checks for options that beam search does not support. The sample flag must
/// be resolved.
static Result<void> checkBeams(const GenerationConfig &config) {
  if (config.numBeams == 1)
    return {};
  const std::string beams = "'num_beams' " + std::to_string(config.numBeams);
  if (*config.sample)
    return unsupported("sampling with " + beams +
                       " is not supported; supported: a temperature of 0, or "
                       "1 beam");
  if (config.numReturnSequences > config.numBeams)
    return usageError("'num_return_sequences' " +
                      std::to_string(config.numReturnSequences) +
                      " is more than " + beams);
  if (config.topLogprobs >= 0)
    return unsupported("log-probabilities of tokens with " + beams +
                       " are not supported; supported: 1 beam");
  if (config.contextPolicy == ContextPolicy::Shift)
    return unsupported("shifting the context with " + beams +
                       " is not supported; supported: 1 beam");
  return {};
}

Result<void> GenerationConfig::resolve() {
  // Check each option against its range.
  Result<void> checked;
  visitGenerationOptions(
      [&](const GenerationOption &option, auto member, auto) {
        std::optional<double> value = getNumber(this->*member);
        if (checked && value)
          checked = checkRange(option.key, *value, option.low, option.high);
      });
  TRANSOM_TRY(std::move(checked));
  TRANSOM_TRY(checkOthers(*this));

  // Choose between greedy search and sampling.
  sample = sample.value_or(false) && temperature.value_or(1) > 1e-30;
  temperature = *sample ? temperature.value_or(1) : 1;
  topK = std::max<int64_t>(0, topK.value_or(0));
  topP = topP.value_or(1);
  minP = minP.value_or(0);
  if (forcedBegin && *forcedBegin < 0)
    forcedBegin.reset();
  if (decoderStart && *decoderStart < 0)
    decoderStart.reset();
  forcedEnd.erase(std::remove_if(forcedEnd.begin(), forcedEnd.end(),
                                 [](int64_t token) { return token < 0; }),
                  forcedEnd.end());

  TRANSOM_TRY(checkBeams(*this));

  // Reject unsupported options from the model's files if they would have an
  // effect.
  std::vector<std::string> refused = unsupported;
  if (*sample)
    refused.insert(refused.end(), unsupportedSampling.begin(),
                   unsupportedSampling.end());
  if (!refused.empty())
    return transom::unsupported("the model's generation_config.json asks for " +
                                refused.front() + ", which is not supported");
  return {};
}

int64_t GenerationConfig::mostNewTokens(int64_t promptLength) const {
  if (maxNewTokens)
    return *maxNewTokens;
  if (maxLength)
    return std::max<int64_t>(0, *maxLength - promptLength);
  return defaultNewTokens;
}

int64_t GenerationConfig::fewestNewTokens(int64_t promptLength) const {
  if (minNewTokens)
    return *minNewTokens;
  return minLength ? std::max<int64_t>(0, *minLength - promptLength) : 0;
}

bool GenerationConfig::isEnd(int64_t token) const {
  return std::find(endTokens.begin(), endTokens.end(), token) !=
         endTokens.end();
}

int64_t GenerationConfig::fillToken() const {
  if (padToken)
    return *padToken;
  return endTokens.empty() ? 0 : endTokens.front();
}
