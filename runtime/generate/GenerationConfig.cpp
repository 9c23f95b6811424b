// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The artifact's settings were checked when it was compiled, so reading them
// knows no positions; callers' values are checked in `settle`.
#include "runtime/generate/GenerationConfig.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace transom;

namespace {

/// Reads members of an object; keeps the first error.
class MemberReader {
public:
  explicit MemberReader(JsonValue root) : root(root) {}

  template <typename T> void integer(const char *key, T &out) {
    if (auto value = root.find(key))
      take(value->asInt(), out);
  }
  template <typename T> void number(const char *key, T &out) {
    if (auto value = root.find(key))
      take(value->asDouble(), out);
  }
  void boolean(const char *key, std::optional<bool> &out) {
    if (auto value = root.find(key))
      take(value->asBool(), out);
  }
  void integers(const char *key, std::vector<int64_t> &out) {
    if (auto value = root.find(key))
      take(value->asIntArray(std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max()),
           out);
  }
  void texts(const char *key, std::vector<std::string> &out) {
    if (auto value = root.find(key))
      take(value->asStringArray(), out);
  }
  Result<void> done() { return std::move(result); }

private:
  template <typename From, typename To> void take(Result<From> value, To &out) {
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
  MemberReader read(document.root());
  read.integer("max_new_tokens", config.maxNewTokens);
  read.integer("min_new_tokens", config.minNewTokens);
  read.integer("max_length", config.maxLength);
  read.integer("min_length", config.minLength);
  read.integer("num_return_sequences", config.numReturnSequences);
  read.integer("num_beams", config.numBeams);
  read.boolean("do_sample", config.sample);
  read.number("temperature", config.temperature);
  read.integer("top_k", config.topK);
  read.number("top_p", config.topP);
  read.number("min_p", config.minP);
  read.number("repetition_penalty", config.repetitionPenalty);
  read.number("presence_penalty", config.presencePenalty);
  read.number("frequency_penalty", config.frequencyPenalty);
  read.integer("no_repeat_ngram_size", config.noRepeatNgramSize);
  read.integers("suppress_tokens", config.suppressed);
  read.integers("begin_suppress_tokens", config.suppressedAtBegin);
  read.integers("eos_token_id", config.endTokens);
  read.integer("bos_token_id", config.beginToken);
  read.integer("pad_token_id", config.padToken);
  read.texts("stop_strings", config.stopStrings);
  read.texts("unbuilt", config.unbuilt);
  read.texts("unbuilt_sampling", config.unbuiltSampling);
  TRANSOM_TRY(read.done());
  // A file that asks for sampling and names no top_k has the class default.
  if (config.sample.value_or(false) && !config.topK)
    config.topK = 50;
  return config;
}

static std::string textOf(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// An error unless low <= value <= high.
static Result<void> checkRange(const char *what, double value, double low,
                               double high) {
  if (value >= low && value <= high)
    return {};
  std::string range = high == std::numeric_limits<double>::max()
                          ? "is at least " + textOf(low)
                          : "is in [" + textOf(low) + ", " + textOf(high) + "]";
  return usageError("'" + std::string(what) + "' " + range + ", got " +
                    textOf(value));
}

Result<void> GenerationConfig::settle() {
  constexpr double unbounded = std::numeric_limits<double>::max();
  struct Bound {
    const char *what;
    double value, low, high;
  };
  const Bound bounds[] = {
      {"max_new_tokens", double(maxNewTokens.value_or(0)), 0, unbounded},
      {"min_new_tokens", double(minNewTokens.value_or(0)), 0, unbounded},
      {"max_length", double(maxLength.value_or(0)), 0, unbounded},
      {"min_length", double(minLength.value_or(0)), 0, unbounded},
      {"num_return_sequences", double(numReturnSequences), 1, 65536},
      {"num_beams", double(numBeams), 1, unbounded},
      {"temperature", temperature.value_or(1), 0, unbounded},
      {"top_k", double(topK.value_or(0)), -1, unbounded},
      {"top_p", topP.value_or(1), 0, 1},
      {"min_p", minP.value_or(0), 0, 1},
      {"repetition_penalty", repetitionPenalty, 1e-6, 1e6},
      {"presence_penalty", presencePenalty, -1e6, 1e6},
      {"frequency_penalty", frequencyPenalty, -1e6, 1e6},
      {"no_repeat_ngram_size", double(noRepeatNgramSize), 0, unbounded},
      {"top_logprobs", double(topLogprobs), -1, 1024}};
  for (const Bound &bound : bounds)
    if (Result<void> done =
            checkRange(bound.what, bound.value, bound.low, bound.high);
        !done)
      return done;
  for (auto [token, bias] : logitBias)
    if (!(bias <= 1e6 && (bias >= -1e6 || std::isinf(bias))))
      return usageError("the logit bias of token " + std::to_string(token) +
                        " is in [-1e6, 1e6] or -inf, got " + textOf(bias));
  for (const std::string &stop : stopStrings)
    if (stop.empty())
      return usageError("a stop string is empty");
  if (numBeams > 1)
    return unsupported("'num_beams' " + std::to_string(numBeams) +
                       " is not built for this model; built: 1");
  sample = sample.value_or(false) && temperature.value_or(1) > 1e-30;
  temperature = *sample ? temperature.value_or(1) : 1;
  topK = std::max<int64_t>(0, topK.value_or(0));
  topP = topP.value_or(1);
  minP = minP.value_or(0);
  std::vector<std::string> missing = unbuilt;
  if (*sample)
    missing.insert(missing.end(), unbuiltSampling.begin(),
                   unbuiltSampling.end());
  if (!missing.empty())
    return unsupported("the model's generation_config.json asks for " +
                       missing.front() + ", which is not built");
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
