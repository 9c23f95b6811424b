// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generating one more token allocates nothing: `new` is replaced by a counting
// version.
#include "runtime/session/Generate.h"
#include "test/support/fake/FakeDecoder.h"
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<size_t> allocations{0};

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace transom;
using namespace transom::test;

/// Allocations during a generation with this token count.
static size_t allocationsFor(Session &session, int64_t tokens, bool sampling) {
  GenerationConfig config;
  config.maxNewTokens = tokens;
  config.contextPolicy = ContextPolicy::Shift;
  config.logitBias = {{FAKE_NAN_TOKEN, -1e6}};
  config.numReturnSequences = 3;
  if (sampling) {
    config.sample = true;
    config.topP = 0.9;
    config.minP = 0.01;
    config.repetitionPenalty = 1.1;
    config.frequencyPenalty = 0.1;
    config.noRepeatNgramSize = 9;
  }
  EXPECT_TRUE(bool(config.resolve()));
  Result<DecoderSource> source = DecoderSource::create(session);
  std::vector<Continuation> continuations;
  const size_t before = allocations;
  Result<void> done = generate(
      *source, config, nullptr, {randomTokens(30, 1), randomTokens(5, 2)},
      [](const GenerationEvent &) { return true; }, continuations);
  EXPECT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(continuations[5].tokens.size(), size_t(tokens));
  return allocations - before;
}

/// Allocations during a beam search with this token count.
static size_t allocationsOfBeams(Session &session, int64_t tokens) {
  GenerationConfig config;
  config.maxNewTokens = tokens;
  config.logitBias = {{FAKE_NAN_TOKEN, -1e6}};
  config.numBeams = config.numReturnSequences = 3;
  config.renormalizeLogits = true;
  config.repetitionPenalty = 1.1;
  config.noRepeatNgramSize = 9;
  EXPECT_TRUE(bool(config.resolve()));
  Result<DecoderSource> source = DecoderSource::create(session);
  std::vector<Continuation> continuations;
  const size_t before = allocations;
  Result<void> done = generate(
      *source, config, nullptr, {randomTokens(30, 1), randomTokens(5, 2)},
      [](const GenerationEvent &) { return true; }, continuations);
  EXPECT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(continuations[5].tokens.size(), size_t(tokens));
  return allocations - before;
}

TEST(GenerateAllocation, none_for_a_step_of_beams) {
  auto model = fakeModel(fakeDecoderManifest());
  auto session = makeSession(*model, decoderConfig(6, 6 * 2048));
  const size_t few = allocationsOfBeams(*session, 10);
  EXPECT_GT(few, 0u);
  EXPECT_EQ(allocationsOfBeams(*session, 500), few);
}

/// Allocations for targets with this token count, greedily or with beams.
static size_t allocationsOfTargets(Session &session, int64_t tokens,
                                   int64_t beams) {
  GenerationConfig config;
  config.maxNewTokens = tokens;
  config.decoderStart = 3;
  config.logitBias = {{FAKE_NAN_TOKEN, -1e6}};
  config.numBeams = config.numReturnSequences = beams;
  config.noRepeatNgramSize = 9;
  config.encoderNoRepeatNgramSize = 3;
  config.badWords = {{5}, {6, 7}};
  config.forcedBegin = 9;
  EXPECT_TRUE(bool(config.resolve()));
  Result<DecoderSource> source = DecoderSource::create(session);
  std::vector<Continuation> continuations;
  const size_t before = allocations;
  Result<void> done = generate(
      *source, config, nullptr, {randomTokens(30, 1), randomTokens(5, 2)},
      [](const GenerationEvent &) { return true; }, continuations);
  EXPECT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(continuations.back().tokens.size(), size_t(tokens));
  return allocations - before;
}

TEST(GenerateAllocation, none_for_a_token_of_a_target) {
  auto model = fakeModel(sourceManifest());
  SessionConfig config = decoderConfig(8, 8 * 1024);
  config.threads = 2;
  auto session = makeSession(*model, config);
  for (int64_t beams : {1, 4}) {
    const size_t few = allocationsOfTargets(*session, 10, beams);
    EXPECT_GT(few, 0u);
    EXPECT_EQ(allocationsOfTargets(*session, 600, beams), few) << beams;
  }
}

TEST(GenerateAllocation, none_for_a_token) {
  auto model = fakeModel(fakeDecoderManifest());
  auto session = makeSession(*model, decoderConfig(6, 6 * 2048));
  for (bool sampling : {false, true}) {
    const size_t few = allocationsFor(*session, 10, sampling);
    EXPECT_GT(few, 0u);
    EXPECT_EQ(allocationsFor(*session, 2500, sampling), few);
  }
}
