// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps with a second ragged table, the keys in a read-only cache: the keys
// that each sequence in a step sees, and rejected steps.
#include "test/support/fake/FakeDecoder.h"

using namespace transom;
using namespace transom::test;

namespace {

/// Fills the read-only positions in a sequence with `first`, `first` + 1, ...
/// and returns the logit from a step on them.
float fill(FakeDecoder &fake, int32_t sequence, int64_t positions,
           float first) {
  Result<char *const *> blocks =
      fake->fillReadOnly(sequence, readOnlyGroup, positions);
  EXPECT_TRUE(bool(blocks)) << blocks.error().message;
  float sum = 0;
  for (int64_t i = 0; i != positions; ++i) {
    float key = first + float(i % 3);
    reinterpret_cast<float *>((*blocks)[i / 256])[i % 256] = key;
    sum += key * float(i + 1);
  }
  return sum;
}

/// The last logit in row `row`.
float getSource(const float *logits, int64_t row) {
  return logits[(row + 1) * FAKE_VOCABULARY - 1];
}

} // namespace

TEST(DecodeReadOnly, each_sequence_sees_its_own_keys) {
  FakeDecoder fake(decoderConfig(3, 3000), crossManifest());
  const int32_t a = fake.create(), b = fake.create();
  const float ofA = fill(fake, a, 1, 7),
              ofB = fill(fake, b, readOnlyPositions, 2);

  // Sequences in a step have any order; a long one takes several runs.
  FakeStep step;
  step.add(b, randomTokens(150, 1), 1);
  step.add(a, randomTokens(5, 2), 2);
  const float *logits = fake.run(step);
  EXPECT_EQ(getSource(logits, 0), ofB);
  EXPECT_EQ(getSource(logits, 1), ofA);
  EXPECT_EQ(getSource(logits, 2), ofA);
  EXPECT_EQ(getSource(fake.feed(a, {3}, 1), 0), ofA);

  // A copy sees its origin's keys, also after the origin is freed.
  const int32_t copy = fake.copy(b);
  fake->free(b);
  EXPECT_EQ(getSource(fake.feed(copy, {4}, 1), 0), ofB);
  fake.rewind(copy, 0);
  EXPECT_EQ(getSource(fake.feed(copy, {5, 6}, 1), 0), ofB);
  fake.checkFed();
}

TEST(DecodeReadOnly, copies_beside_each_other_read_their_keys_once) {
  FakeDecoder fake(decoderConfig(4, 4000), crossManifest());
  const int32_t a = fake.create(), b = fake.create();
  const float ofA = fill(fake, a, 300, 7), ofB = fill(fake, b, 20, 2);
  fake.feed(a, {1, 2, 3}, 1);
  const int32_t first = fake.copy(a), second = fake.copy(a);
  FakeStep step;
  step.add(first, {4, 5}, 1);
  step.add(a, {6}, 1);
  step.add(b, {7}, 1);
  step.add(second, {8}, 1);
  const float *logits = fake.run(step);
  for (int64_t row : {0, 1, 3})
    EXPECT_EQ(getSource(logits, row), ofA) << row;
  EXPECT_EQ(getSource(logits, 2), ofB);

  // `first` and `a` are one sequence there.
  EXPECT_EQ(transom_fake_num_sources, 3);
  fake.checkFed();
}

TEST(DecodeReadOnly, a_sequence_without_keys_is_refused) {
  FakeDecoder fake(decoderConfig(2, 1000), crossManifest());
  const int32_t filled = fake.create(), empty = fake.create();
  fill(fake, filled, 10, 1);
  const std::vector<int64_t> tokens = {1, 2};
  const StepInput inputs[] = {{filled, tokens.data(), 2, 1},
                              {empty, tokens.data(), 2, 1}};
  Result<const float *> done = fake->step(inputs, 2);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
  EXPECT_NE(done.error().message.find(
                "sequence 1 has no positions in the read-only cache 2"),
            std::string::npos)
      << done.error().message;
  EXPECT_EQ(fake->length(filled), 0);
  fill(fake, empty, 20, 1);
  fake.feed(empty, {1, 2}, 1);
  fake.checkFed();
}

TEST(DecodeReadOnly, the_table_of_tokens_comes_first) {
  Manifest manifest = crossManifest();
  std::swap(manifest.entries[0].ragged[0], manifest.entries[0].ragged[1]);
  Result<Entry> entry = Entry::create(manifest, manifest.entries[0], nullptr);
  ASSERT_FALSE(entry);
  EXPECT_NE(entry.error().message.find(
                "has keys of a cache group, but no table of the tokens 'rows' "
                "before it"),
            std::string::npos)
      << entry.error().message;
}
