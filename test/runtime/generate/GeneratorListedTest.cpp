// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translations with a shortlist over a hand-written model: the same whether a
// step returns all logits or only shortlist logits, with texts that are added
// and removed.
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/Shortlist.h"
#include "runtime/generate/Generator.h"
#include "test/runtime/generate/FakeSource.h"
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

constexpr int64_t kTokens = 40;

/// A tokenizer with the words w0 to w39 and three targets for each.
class ListedTokenizer {
public:
  ListedTokenizer() {
    std::string vocabulary, pairs;
    for (int64_t i = 0; i < kTokens; ++i) {
      const std::string word = "w" + std::to_string(i);
      vocabulary += (i ? ", \"" : "\"") + word + "\": " + std::to_string(i);
      for (int64_t k = 1; k < 4; ++k)
        pairs += "w" + std::to_string((i * 7 + k * 11) % kTokens) + " " + word +
                 " 0." + std::to_string(k) + "\n";
    }
    auto made = importTokenizer(
        R"({"model": {"type": "WordPiece", "unk_token": "w0",
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
            "vocab": {)" +
            vocabulary + "}}}",
        "t.json");
    EXPECT_TRUE(bool(made)) << made.error().message;
    tables = std::move(made->tables);
    const std::string path = testing::TempDir() + "generator-listed.s2t";
    std::ofstream(path) << pairs;
    Result<void> added = addShortlist({path, 3, 3}, {kTokens, kTokens}, tables);
    EXPECT_TRUE(bool(added)) << added.error().message;
    std::remove(path.c_str());
    tokenizer.emplace(*Tokenizer::open(tables));
  }
  Shortlist getList() const { return **Shortlist::open(*tokenizer); }

private:
  std::string tables;
  std::optional<Tokenizer> tokenizer;
};

GenerationConfig getConfig(int64_t beams) {
  GenerationConfig config;
  config.maxNewTokens = 9;
  config.numBeams = beams;
  config.beginToken = 1;
  config.endTokens = {7};
  config.topLogprobs = beams > 1 ? -1 : 3;
  EXPECT_TRUE(bool(config.resolve()));
  return config;
}

/// The generated tokens for sources with one to six tokens, a few at a time.
std::vector<Continuation> run(int64_t beams, int64_t listedLimit,
                              FakeSource &source) {
  static const ListedTokenizer tokenizer;
  source.sourceLimit = 8;
  source.listedLimit = listedLimit;
  GenerationPrompts prompts(makePrompts(12, 6));
  prompts.shortlist = tokenizer.getList();
  std::vector<Continuation> rows;
  Result<void> done =
      generate(source, getConfig(beams), nullptr, prompts, {}, rows);
  EXPECT_TRUE(bool(done)) << done.error().message;
  return rows;
}

} // namespace

TEST(GeneratorListed, results_are_those_of_all_logits) {
  for (int64_t beams : {1, 3}) {
    FakeSource all(kTokens, 3 * beams, 40);
    const std::vector<Continuation> expected = run(beams, 0, all);
    EXPECT_EQ(all.listedSteps, 0u);
    // With little memory some steps have too many tokens together.
    for (int64_t limit : {kTokens, int64_t(22)}) {
      FakeSource source(kTokens, 3 * beams, 40);
      const std::vector<Continuation> found = run(beams, limit, source);
      EXPECT_EQ(source.steps, all.steps);
      EXPECT_GT(source.listedSteps, 0u);
      EXPECT_EQ(source.listedSteps == source.steps, limit == kTokens);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i != found.size(); ++i) {
        EXPECT_EQ(found[i].tokens, expected[i].tokens);
        EXPECT_EQ(found[i].logprobs, expected[i].logprobs);
        if (beams > 1)
          EXPECT_EQ(found[i].score, expected[i].score);
      }
    }
  }
}
