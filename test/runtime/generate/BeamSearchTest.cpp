// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against transformers: whole searches over logits that are a token hash, with
// random settings; and the slot rules.
#include "runtime/generate/BeamCandidates.h"
#include "runtime/json/Json.h"
#include "test/runtime/generate/Choose.h"
#include <cmath>
#include <cstdlib>
#include <set>

using namespace transom;
using namespace transom::test;

namespace {

/// The model for a case, as in make-beam-goldens.py.
struct HashedModel {
  explicit HashedModel(JsonValue golden)
      : vocabulary(*golden.find("vocabulary")->asInt()),
        seed(uint64_t(*golden.find("seed")->asInt())),
        scale(float(*golden.find("scale")->asDouble())),
        boost(float(*golden.find("boost")->asDouble())) {}

  std::vector<float> getLogits(const std::vector<int64_t> &tokens,
                               const GenerationConfig &config) const {
    uint64_t state = seed;
    for (int64_t token : tokens)
      state =
          (state ^ uint64_t(token + 1)) * 0x9E3779B97F4A7C15 + (state >> 29);
    std::vector<float> logits;
    for (uint64_t id = 0; id != uint64_t(vocabulary); ++id) {
      uint64_t value = (state ^ (id * 0xC2B2AE3D27D4EB4F)) * 0x9E3779B97F4A7C15;
      value = (value ^ (value >> 31)) % 100003;
      logits.push_back((float(value) / 12500 - 4) * scale);
    }
    for (int64_t token : config.endTokens)
      logits[size_t(token)] += boost;
    return logits;
  }

  int64_t vocabulary;
  uint64_t seed;
  float scale, boost;
};

/// The data that a caller keeps for each slot, here its tokens.
class Slots {
public:
  Slots(size_t count, const std::vector<int64_t> &prompt) : kept(count) {
    kept[0] = prompt;
  }
  void follow(const BeamSearch &search) {
    for (size_t slot : search.getDead())
      kept[slot].reset();
    for (BeamSearch::Copy copy : search.getCopies()) {
      EXPECT_FALSE(kept[copy.to]) << "a slot in use gets a copy";
      kept[copy.to] = kept[copy.from];
    }
    std::set<size_t> used;
    for (const BeamSearch::Beam &beam : search.getBeams()) {
      EXPECT_TRUE(used.insert(beam.slot).second);
      const std::vector<int64_t> &tokens = search.getTokens(beam.slot);
      ASSERT_TRUE(kept[beam.slot]);
      kept[beam.slot]->push_back(tokens.back());
      EXPECT_EQ(*kept[beam.slot], tokens);
    }
  }

private:
  std::vector<std::optional<std::vector<int64_t>>> kept;
};

} // namespace

static JsonDocument readGoldens() {
  const std::string path = std::string(std::getenv("TRANSOM_SOURCE_DIR")) +
                           "/test/goldens/sampling/beams.json";
  Result<JsonDocument> document = parseJsonFile(path);
  EXPECT_TRUE(bool(document)) << document.error().message;
  return *document;
}

/// Runs one search to its end.
static BeamSearch search(const HashedModel &model,
                         const GenerationConfig &config,
                         const std::vector<int64_t> &prompt) {
  const int64_t mostNew = config.mostNewTokens(int64_t(prompt.size()));
  BeamSearch beams(config, prompt, mostNew);
  BeamCandidates candidates(config, model.vocabulary);
  Slots slots(size_t(config.numBeams), prompt);
  while (!beams.isDone()) {
    std::set<size_t> added;
    for (const BeamSearch::Beam &beam : beams.getBeams()) {
      if (!added.insert(beam.slot).second)
        continue;
      const std::vector<int64_t> &tokens = beams.getTokens(beam.slot);
      const std::vector<float> logits = model.getLogits(tokens, config);
      SamplingPosition position{tokens.data(), tokens.size(), prompt.size()};
      position.maxLength = prompt.size() + size_t(mostNew);
      position.source = prompt.data();
      position.sourceCount = prompt.size();
      auto found = candidates.find(logits.data(), position);
      EXPECT_TRUE(bool(found)) << found.error().message;
      beams.add(beam.slot, (*found)->data(), (*found)->size());
    }
    beams.select();
    beams.advance();
    slots.follow(beams);
  }
  return beams;
}

TEST(BeamSearch, results_of_transformers) {
  JsonDocument document = readGoldens();
  for (JsonValue golden : document.root().elements()) {
    const HashedModel model(golden);
    Result<GenerationConfig> config =
        GenerationConfig::parse(*golden.find("settings")->asString());
    ASSERT_TRUE(bool(config)) << config.error().message;
    ASSERT_TRUE(bool(config->resolve())) << golden.where();
    const BeamSearch found =
        search(model, *config, *golden.find("prompt")->asIntArray(0, 1000));
    const JsonValue scores = *golden.find("scores");
    const JsonValue tokens = *golden.find("tokens");
    for (size_t i = 0; i != tokens.size(); ++i) {
      const BeamSearch::Hypothesis &result = found.getResults()[i];
      EXPECT_EQ(result.tokens, *tokens[i].asIntArray(0, 1000))
          << golden.where() << " result " << i;
      const double score = *scores[i].asDouble();
      EXPECT_NEAR(result.score, score, 1e-6 * std::max(1.0, std::fabs(score)))
          << golden.where() << " result " << i;
      EXPECT_TRUE(result.isDone());
    }
  }
  EXPECT_GT(document.root().size(), 300u);
}
