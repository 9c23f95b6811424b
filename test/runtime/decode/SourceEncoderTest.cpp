// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoder sequences from sources with any length: alone and in batches,
// in any order, with any thread count.
#include "test/support/fake/FakeDecoder.h"
#include <random>

using namespace transom;
using namespace transom::test;

namespace {

/// A source's ids and mask.
struct Source {
  std::vector<int64_t> ids, mask;
  SourceInput get() const {
    return {ids.data(), mask.data(), int64_t(ids.size())};
  }
  float expected() const { return expectedSource(ids, mask); }
};

/// A source with padding on the right and, with `holes`, anywhere.
Source makeSource(size_t columns, unsigned seed, bool holes = false) {
  Source source;
  source.ids = randomTokens(columns, seed);
  source.mask.assign(columns, 1);
  std::mt19937 random(seed);
  for (size_t i = 1; i < columns && holes; ++i)
    source.mask[i] = random() % 3 != 0;
  for (size_t i = columns - columns / 4; i != columns && columns > 1; ++i)
    source.mask[i] = 0;
  return source;
}

SessionConfig makeSourceConfig(int64_t sequences, int64_t maxTokens,
                               unsigned threads = 1) {
  SessionConfig config = decoderConfig(sequences, 4000, maxTokens);
  config.maxBatch = 4;
  config.threads = threads;
  return config;
}

Result<std::vector<int32_t>> addSources(FakeDecoder &fake,
                                        const std::vector<Source> &sources) {
  std::vector<SourceInput> inputs;
  for (const Source &source : sources)
    inputs.push_back(source.get());
  std::vector<int32_t> sequences(sources.size(), -1);
  TRANSOM_TRY(fake->addSources(inputs.data(), inputs.size(), sequences.data()));
  for (int32_t sequence : sequences)
    fake.importSequence(sequence, {});
  return sequences;
}

/// The last logit after a step on a sequence.
float getLast(FakeDecoder &fake, int32_t sequence) {
  return fake.feed(sequence, {1, 2}, 1)[FAKE_VOCABULARY - 1];
}

/// The error from adding sources, which changes nothing.
Error getError(FakeDecoder &fake, const std::vector<Source> &sources) {
  const int64_t sequences = fake->freeSequences();
  const int64_t positions = fake->freeSourcePositions();
  Result<std::vector<int32_t>> made = addSources(fake, sources);
  EXPECT_FALSE(made);
  EXPECT_EQ(fake->freeSequences(), sequences);
  EXPECT_EQ(fake->freeSourcePositions(), positions);
  return made ? Error{Status::Ok, "", {}} : made.error();
}

} // namespace

TEST(SourceEncoder, sequences_have_the_keys_of_their_sources) {
  for (unsigned threads : {1u, 2u, 3u, 8u})
    for (int64_t maxTokens : {300, 600}) {
      FakeDecoder fake(makeSourceConfig(12, maxTokens, threads),
                       sourceManifest());
      ASSERT_TRUE(fake->hasSources());
      EXPECT_EQ(fake->longestSource(), maxTokens);
      std::vector<Source> sources;
      for (size_t columns : {1u, 40u, 300u, 7u, 40u, 299u, 2u, 257u, 3u, 40u})
        sources.push_back(
            makeSource(columns, unsigned(sources.size()), columns != 40));
      const int64_t before = countEncoded();
      Result<std::vector<int32_t>> made = addSources(fake, sources);
      ASSERT_TRUE(made) << made.error().message;
      // The encoder sees each source once.
      EXPECT_EQ(countEncoded() - before, int64_t(sources.size()));
      for (size_t i = 0; i != sources.size(); ++i)
        EXPECT_EQ(getLast(fake, (*made)[i]), sources[i].expected()) << i;
      EXPECT_EQ(countEncoded() - before, int64_t(sources.size()));
      fake.checkFed();
    }
}

TEST(SourceEncoder, copies_share_the_keys) {
  FakeDecoder fake(makeSourceConfig(6, 300), sourceManifest());
  const int64_t before = countEncoded();
  const std::vector<Source> sources = {makeSource(290, 1), makeSource(5, 2)};
  Result<std::vector<int32_t>> made = addSources(fake, sources);
  ASSERT_TRUE(made) << made.error().message;
  const int64_t free = fake->freeSourcePositions();
  const int32_t copy = fake.copy((*made)[0]), other = fake.copy(copy);
  EXPECT_EQ(fake->freeSourcePositions(), free);
  fake->free((*made)[0]);
  EXPECT_EQ(getLast(fake, other), sources[0].expected());
  EXPECT_EQ(getLast(fake, copy), sources[0].expected());
  EXPECT_EQ(countEncoded() - before, 2);
  // A source without a mask has tokens only; blocks are reused.
  fake->free(copy);
  fake->free(other);
  Source all = makeSource(100, 3);
  all.mask.assign(100, 1);
  const SourceInput input = {all.ids.data(), nullptr, 100};
  int32_t sequence;
  ASSERT_TRUE(fake->addSources(&input, 1, &sequence));
  fake.importSequence(sequence, {});
  EXPECT_EQ(getLast(fake, sequence), all.expected());
}

TEST(SourceEncoder, refuses_wrong_sources) {
  FakeDecoder fake(makeSourceConfig(3, 64), sourceManifest());
  const Source good = makeSource(10, 1);
  Source wrong = good;
  wrong.mask.assign(10, 0);
  Error error = getError(fake, {good, wrong});
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message, "source 1 has no tokens; it takes 1 or more");
  EXPECT_EQ(getError(fake, {good, Source()}).status, Status::Rejected);
  wrong = good;
  wrong.mask[3] = 2;
  error = getError(fake, {wrong});
  EXPECT_EQ(error.message, "the mask of source 0 has the value 2 in column 3; "
                           "masks hold 0 and 1");
  wrong = good;
  wrong.ids[2] = 100;
  error = getError(fake, {good, wrong});
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message, "token 2 of source 1 is 100; ids of the encoder are "
                           "0 to 99");
  wrong.ids[2] = -1;
  EXPECT_EQ(getError(fake, {wrong}).status, Status::Rejected);

  // A decoder alone has no sources.
  FakeDecoder alone;
  EXPECT_FALSE(alone->hasSources());
  const SourceInput input = good.get();
  int32_t sequence;
  Result<void> done = alone->addSources(&input, 1, &sequence);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
}

TEST(SourceEncoder, refuses_sources_over_a_limit) {
  FakeDecoder fake(makeSourceConfig(3, 64), sourceManifest());
  const Source good = makeSource(10, 1);
  // Padding on the right does not count.
  Source wrong = makeSource(65, 2);
  EXPECT_TRUE(addSources(fake, {wrong}));
  wrong.mask[64] = 1;
  Error error = getError(fake, {good, wrong});
  EXPECT_EQ(error.status, Status::Limit);
  EXPECT_EQ(error.message,
            "source 1 has 65 columns up to its last token, over the maximum 64 "
            "of the session; one with a larger max_tokens takes more");
  error = getError(fake, {good, good, good});
  EXPECT_EQ(error.status, Status::Limit);
  EXPECT_NE(error.message.find("max_sequences"), std::string::npos);

  // The model's limit.
  Manifest limited = sourceManifest();
  limited.symbols = {{"seq", 20}};
  FakeDecoder shorter(makeSourceConfig(3, 64), limited);
  EXPECT_EQ(shorter->longestSource(), 20);
  wrong = makeSource(21, 2);
  wrong.mask[20] = 1;
  error = getError(shorter, {wrong});
  EXPECT_EQ(error.status, Status::Limit);
  EXPECT_NE(error.message.find("over the maximum 20 of the model"),
            std::string::npos);
}

TEST(SourceEncoder, tells_that_the_caches_are_full) {
  SessionConfig config = makeSourceConfig(4, 300);
  config.maxSourceTokens = 3 * 256;
  FakeDecoder fake(config, sourceManifest());
  EXPECT_EQ(fake->freeSourcePositions(), 3 * 256);
  Source two = makeSource(300, 1);
  two.mask.assign(300, 1);
  ASSERT_TRUE(addSources(fake, {two}));
  const Error error = getError(fake, {makeSource(5, 2), makeSource(6, 3)});
  EXPECT_EQ(error.status, Status::Limit);
  EXPECT_NE(error.message.find("a session with a larger max_source_tokens"),
            std::string::npos)
      << error.message;
  EXPECT_TRUE(addSources(fake, {makeSource(5, 2)}));
}

TEST(SourceEncoder, a_cancelled_call_creates_nothing) {
  FakeDecoder fake(makeSourceConfig(4, 300), sourceManifest());
  fake.session().cancel();
  EXPECT_EQ(getError(fake, {makeSource(5, 2)}).status, cancelledStatus);
  EXPECT_TRUE(addSources(fake, {makeSource(5, 2)}));
}
