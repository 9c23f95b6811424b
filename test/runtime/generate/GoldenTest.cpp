// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against transformers: logits after the processors, and the tokens and
// probabilities that remain for sampling.
#include "runtime/generate/Sampler.h"
#include "runtime/json/Json.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>

using namespace transom;

static constexpr float banned = -std::numeric_limits<float>::infinity();

static JsonDocument goldens() {
  const std::string path = std::string(std::getenv("TRANSOM_SOURCE_DIR")) +
                           "/test/goldens/sampling/processors.json";
  Result<JsonDocument> document = parseJsonFile(path);
  EXPECT_TRUE(bool(document)) << document.error().message;
  return *document;
}

static std::vector<float> getFloats(JsonValue values) {
  std::vector<float> floats;
  for (JsonValue value : values.elements())
    floats.push_back(value.isNull() ? banned : float(*value.asDouble()));
  return floats;
}

/// The configuration for a case; biases are not among the files' keys.
static GenerationConfig getConfig(JsonValue from) {
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  // Write the settings in the form that the files have.
  for (JsonValue::Member member : from.members()) {
    if (member.key == "logit_bias")
      continue;
    json.key(member.key);
    if (member.key == "bad_words_ids") {
      json.beginArray();
      for (JsonValue word : member.value.elements())
        json.array(*word.asIntArray(0, 1000));
      json.endArray();
    } else if (member.value.isArray()) {
      json.array(*member.value.asIntArray(0, 1000));
    } else if (member.value.isInteger()) {
      json.value(*member.value.asInt());
    } else {
      json.value(*member.value.asDouble());
    }
  }
  json.endObject();
  Result<GenerationConfig> config = GenerationConfig::parse(text);
  EXPECT_TRUE(bool(config)) << config.error().message;
  // Add the biases, which files cannot have.
  if (auto biases = from.find("logit_bias"))
    for (JsonValue bias : biases->elements())
      config->logitBias.emplace_back(*bias[0].asInt(), *bias[1].asDouble());
  config->sample = true;
  Result<void> resolved = config->resolve();
  EXPECT_TRUE(bool(resolved)) << resolved.error().message;
  return *config;
}

namespace {
/// The case position.
struct GoldenPosition {
  explicit GoldenPosition(JsonValue golden)
      : tokens(*golden.find("tokens")->asIntArray(0, 1000)),
        source(*golden.find("source")->asIntArray(0, 1000)) {
    position.tokens = tokens.data();
    position.count = tokens.size();
    position.promptCount = size_t(*golden.find("prompt")->asInt());
    position.maxLength =
        size_t(*golden.find("config")->find("max_length")->asInt());
    position.source = source.data();
    position.sourceCount = source.size();
  }
  std::vector<int64_t> tokens, source;
  SamplingPosition position;
};
} // namespace

TEST(Golden, processors) {
  JsonDocument document = goldens();
  size_t changed = 0;
  for (JsonValue golden : document.root().elements()) {
    GenerationConfig config = getConfig(*golden.find("config"));
    std::vector<float> logits = getFloats(*golden.find("logits"));
    std::vector<float> expected = getFloats(*golden.find("processed"));
    const GoldenPosition at(golden);
    const SamplingPosition &position = at.position;
    LogitProcessors processors(config, int64_t(logits.size()));
    const std::vector<float> before = logits;
    DenseRow row(logits.data(), int64_t(logits.size()));
    if (processors.changes(position))
      processors.apply(row, position);
    changed += before != logits;
    for (size_t i = 0; i != logits.size(); ++i)
      if (expected[i] == banned)
        EXPECT_EQ(logits[i], banned) << golden.where() << " token " << i;
      else
        EXPECT_NEAR(logits[i], expected[i], 1e-6)
            << golden.where() << " token " << i;
  }
  EXPECT_GT(changed, 30u);
}

TEST(Golden, candidates_and_their_probabilities) {
  JsonDocument document = goldens();
  for (JsonValue golden : document.root().elements()) {
    GenerationConfig config = getConfig(*golden.find("config"));
    std::vector<float> logits = getFloats(*golden.find("logits"));
    std::vector<float> processed = getFloats(*golden.find("processed"));
    const GoldenPosition at(golden);
    const SamplingPosition &position = at.position;
    Sampler sampler(config, int64_t(logits.size()));
    ASSERT_TRUE(bool(sampler.choose(logits.data(), position)));
    JsonValue left = *golden.find("left");
    double sum = 0;
    for (int32_t token : sampler.candidates())
      sum += std::exp(double(processed[size_t(token)]) / *config.temperature);
    EXPECT_EQ(sampler.candidates().size(), left.size()) << golden.where();
    for (int32_t token : sampler.candidates()) {
      auto expected = left.find(std::to_string(token));
      ASSERT_TRUE(expected) << golden.where() << " token " << token;
      EXPECT_NEAR(
          std::exp(double(processed[size_t(token)]) / *config.temperature) /
              sum,
          *expected->asDouble(), 1e-6)
          << golden.where();
    }
  }
}
