// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that are loops over a decoder's step: batches with padding anywhere,
// with any length, in the caller's tensors.
#include "test/runtime/session/LoopBatch.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

void checkLogits(const LoopBatch &batch, const std::vector<float> &out) {
  const float *row = out.data();
  for (int64_t b = 0; b != batch.batch; ++b)
    for (int64_t s = 0; s != batch.seq; ++s, row += FAKE_VOCABULARY) {
      if (batch.isReal(b, s))
        expectRow(row, batch.tokens(b, s));
      else
        EXPECT_EQ(std::vector<float>(row, row + FAKE_VOCABULARY),
                  std::vector<float>(FAKE_VOCABULARY, 0));
    }
}

} // namespace

TEST(DerivedEntries, logits_of_padded_batches) {
  for (int64_t maxTokens : {4, 64, 500})
    for (unsigned hidden : {0u, 2u, 5u}) {
      FakeDecoder fake(decoderConfig(3, 700, maxTokens));
      LoopBatch batch(7, 61, 11 + hidden, hidden);
      std::fill_n(batch.mask.begin() + 2 * 61, 61, 0); // a padding row
      std::vector<float> out(size_t(7 * 61 * FAKE_VOCABULARY), -1);
      Result<void> done = runDerivedEntry(fake, "logits", batch, "logits", out);
      ASSERT_TRUE(bool(done)) << done.error().message;
      checkLogits(batch, out);
    }
}

TEST(DerivedEntries, long_rows_go_through_in_chunks) {
  FakeDecoder fake(decoderConfig(2, 1500, 64));
  LoopBatch batch(3, 600, 3, 9);
  std::vector<float> out(size_t(3 * 600 * FAKE_VOCABULARY), -1);
  ASSERT_TRUE(bool(runDerivedEntry(fake, "logits", batch, "logits", out)));
  checkLogits(batch, out);
}

TEST(DerivedEntries, a_cache_for_one_sequence_serves_a_batch) {
  FakeDecoder fake(decoderConfig(1, 20, 64));
  LoopBatch batch(9, 20, 3);
  std::vector<float> out(size_t(9 * 20 * FAKE_VOCABULARY), -1);
  ASSERT_TRUE(bool(runDerivedEntry(fake, "logits", batch, "logits", out)));
  checkLogits(batch, out);
}

TEST(DerivedEntries, other_types_strides_and_no_mask) {
  FakeDecoder fake;
  LoopBatch batch(2, 5, 4);
  std::vector<int32_t> ids(2 * 5 * 2, -1); // every second element, transposed
  for (int64_t b = 0; b != 2; ++b)
    for (int64_t s = 0; s != 5; ++s)
      ids[size_t(s * 4 + b * 2)] = int32_t(batch.ids[size_t(b * 5 + s)]);
  transom_tensor input =
      makeTensor("input_ids", TRANSOM_DTYPE_I32, {2, 5}, ids);
  input.strides[0] = 2;
  input.strides[1] = 4;
  std::vector<float> out(2 * 5 * FAKE_VOCABULARY * 2, -1);
  transom_tensor output = makeTensor("logits", TRANSOM_DTYPE_F32, {}, out);
  // The output also has strides.
  output.strides[0] = FAKE_VOCABULARY * 2;
  output.strides[1] = FAKE_VOCABULARY * 4;
  output.strides[2] = 2;
  Result<void> done = fake.session().run("logits", &input, 1, &output, 1);
  ASSERT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(output.shape[2], FAKE_VOCABULARY);
  // Elements between the strides are unchanged.
  std::vector<float> dense;
  for (int64_t b = 0; b != 2; ++b)
    for (int64_t s = 0; s != 5; ++s)
      for (int64_t v = 0; v != FAKE_VOCABULARY; ++v) {
        size_t at = size_t((b + 2 * s) * FAKE_VOCABULARY * 2 + 2 * v);
        dense.push_back(out[at]);
        EXPECT_EQ(out[at + 1], -1);
      }
  checkLogits(batch, dense);
}

TEST(DerivedEntries, scores_are_log_probabilities_of_the_next_token) {
  for (unsigned hidden : {0u, 3u}) {
    FakeDecoder fake(decoderConfig(3, 700, 32));
    LoopBatch batch(5, 50, 21 + hidden, hidden);
    std::vector<float> out(5 * 49, -1);
    Result<void> done = runDerivedEntry(fake, "score", batch, "logprobs", out);
    ASSERT_TRUE(bool(done)) << done.error().message;
    for (int64_t b = 0; b != 5; ++b)
      for (int64_t s = 0; s != 49; ++s) {
        float score = out[size_t(b * 49 + s)];
        std::vector<int64_t> past = batch.tokens(b, s);
        if (past.empty() || !batch.isReal(b, s + 1)) {
          EXPECT_EQ(score, 0);
          continue;
        }
        // The last element in a row depends on the block alone: zero here.
        EXPECT_NEAR(score,
                    logProbability(expectedLogits(past),
                                   batch.ids[size_t(b * 50 + s + 1)]),
                    1e-5)
            << b << " " << s;
      }
  }
}

TEST(DerivedEntries, a_classifier_looks_at_the_last_real_token) {
  FakeDecoder fake(decoderConfig(2, 700, 16),
                   fakeDecoderManifest(2000, "sequence_classification"));
  LoopBatch batch(6, 40, 2, 3);
  std::fill_n(batch.mask.begin(), 40, 0);
  std::vector<float> out(6 * FAKE_VOCABULARY, -1);
  Result<void> done = runDerivedEntry(fake, "encode", batch, "logits", out);
  ASSERT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + FAKE_VOCABULARY),
            std::vector<float>(FAKE_VOCABULARY, 0));
  for (int64_t b = 1; b != 6; ++b)
    expectRow(&out[size_t(b * FAKE_VOCABULARY)], batch.tokens(b, 39));
}

TEST(DerivedEntries, a_classifier_skips_the_padding_id_at_the_end) {
  Manifest manifest = fakeDecoderManifest(2000, "sequence_classification");
  manifest.decoder->classRow = "last_other";
  manifest.decoder->classToken = 7;
  for (int64_t maxTokens : {16, 200}) {
    FakeDecoder fake(decoderConfig(2, 700, maxTokens), manifest);
    LoopBatch batch(4, 40, 2, 3);
    for (int64_t &id : batch.ids)
      id = id == 7 ? 8 : id;
    // Ends with one padding id, with several, and has no other id.
    for (int64_t b = 1; b != 4; ++b)
      for (int64_t s = b == 1 ? 39 : b == 2 ? 5 : 0; s != 40; ++s)
        if (batch.isReal(b, s))
          batch.ids[size_t(b * 40 + s)] = 7;
    std::vector<float> out(4 * FAKE_VOCABULARY, -1);
    Result<void> done = runDerivedEntry(fake, "encode", batch, "logits", out);
    ASSERT_TRUE(bool(done)) << done.error().message;
    for (int64_t b = 0; b != 4; ++b) {
      std::vector<int64_t> read = batch.tokens(b, 39);
      while (read.size() > 1 && read.back() == 7)
        read.pop_back();
      expectRow(&out[size_t(b * FAKE_VOCABULARY)], read);
    }
  }
}

TEST(DerivedEntries, a_bare_model_gives_a_row_for_each_token) {
  FakeDecoder fake(decoderConfig(2, 700, 16),
                   fakeDecoderManifest({}, "none", "last_hidden_state"));
  LoopBatch batch(3, 40, 2, 3);
  std::vector<float> out(3 * 40 * FAKE_VOCABULARY, -1);
  Result<void> done =
      runDerivedEntry(fake, "encode", batch, "last_hidden_state", out);
  ASSERT_TRUE(bool(done)) << done.error().message;
  checkLogits(batch, out);
}

TEST(DerivedEntries, results_may_stay_in_the_session) {
  SessionConfig config = decoderConfig(2, 700, 64);
  config.holdResults = true;
  FakeDecoder fake(config);
  LoopBatch batch(2, 10, 1);
  auto inputs = batch.inputs();
  ASSERT_TRUE(bool(fake.session().run("logits", inputs.data(), 2, nullptr, 0)));
  const auto *held =
      static_cast<const float *>(fake.session().executor().heldResult(
          fake.session().model().entries()[1], 0, 1)); // entry 0 is the step
  checkLogits(batch, {held, held + 2 * 10 * FAKE_VOCABULARY});
  FakeDecoder without(decoderConfig(2, 700, 64));
  EXPECT_EQ(without.session()
                .run("logits", inputs.data(), 2, nullptr, 0)
                .error()
                .status,
            Status::Rejected);
}

TEST(DerivedEntries, shapes) {
  FakeDecoder fake;
  LoopBatch batch(2, 10, 1);
  auto inputs = batch.inputs();
  transom_tensor shape{};
  ASSERT_TRUE(
      bool(fake.session().shape("logits", inputs.data(), 2, "logits", shape)));
  EXPECT_EQ(shape.rank, 3);
  EXPECT_EQ(shape.capacity, size_t(2 * 10 * FAKE_VOCABULARY * 4));
  ASSERT_TRUE(
      bool(fake.session().shape("score", inputs.data(), 2, "logprobs", shape)));
  EXPECT_EQ(shape.rank, 2);
  EXPECT_EQ(shape.shape[1], 9);
  Result<void> step =
      fake.session().shape("step", inputs.data(), 2, "logits", shape);
  EXPECT_EQ(step.error().status, Status::Usage);
}

TEST(DerivedEntries, wrong_batches_are_refused) {
  FakeDecoder fake(decoderConfig(2, 60, 64), fakeDecoderManifest(50));
  std::vector<float> out(60 * FAKE_VOCABULARY, -1);
  // A rejected batch leaves its results unchanged.
  auto expect = [&](LoopBatch &batch, Status status, const char *text,
                    const char *entry = "logits",
                    const char *result = "logits") {
    Result<void> done = runDerivedEntry(fake, entry, batch, result, out);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().status, status);
    EXPECT_NE(done.error().message.find(text), std::string::npos)
        << done.error().message;
    EXPECT_EQ(out, std::vector<float>(out.size(), -1));
  };
  // Ids count only where the mask is set.
  LoopBatch batch(2, 20, 1);
  batch.ids[25] = FAKE_VOCABULARY;
  expect(batch, Status::Rejected, "has the value 16 at [1, 5]");
  batch.mask[25] = 0;
  std::vector<float> keep = out;
  EXPECT_TRUE(bool(runDerivedEntry(fake, "logits", batch, "logits", out)));
  out = keep;
  // Wrong masks, contexts and lengths.
  batch.mask[3] = 2;
  expect(batch, Status::Rejected, "has the value 2 at [0, 3]; masks hold");
  LoopBatch longer(1, 51, 1);
  expect(longer, Status::Limit, "51 tokens, over the model's context of 50");
  longer.mask[7] = 0; // padding is not a position
  EXPECT_TRUE(bool(runDerivedEntry(fake, "logits", longer, "logits", out)));
  out = keep;
  LoopBatch one(1, 1, 1);
  expect(one, Status::Rejected, "needs two tokens", "score", "logprobs");
}

TEST(DerivedEntries, no_room_beside_open_sequences_leaves_results_alone) {
  FakeDecoder fake(decoderConfig(2, 600, 64)); // 4 blocks
  LoopBatch batch(2, 400, 1, 9);
  auto inputs = batch.inputs();
  std::vector<float> out(2 * 400 * FAKE_VOCABULARY, -1);
  transom_tensor output = makeTensor("logits", TRANSOM_DTYPE_F32, {}, out);
  // The error leaves results unchanged.
  auto expectFull = [&](const char *text) {
    Result<void> done =
        fake.session().run("logits", inputs.data(), 2, &output, 1);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().status, Status::Limit);
    EXPECT_NE(done.error().message.find(text), std::string::npos)
        << done.error().message;
    EXPECT_EQ(out, std::vector<float>(out.size(), -1));
  };
  // Open sequences take the blocks, then the last sequence.
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(700, 2), 1);
  expectFull("the cache is full");
  int32_t other = fake.create();
  expectFull("all 2 sequences");
  fake->free(other);
  fake->free(sequence);
  // With enough blocks the entry runs, and the open sequence continues.
  sequence = fake.create();
  fake.feed(sequence, randomTokens(500, 3), 1);
  ASSERT_TRUE(bool(fake.session().run("logits", inputs.data(), 2, &output, 1)));
  checkLogits(batch, out);
  fake.feed(sequence, {1, 2}, 2);
}

TEST(DerivedEntries, a_score_that_is_none_is_told) {
  FakeDecoder fake(decoderConfig(2, 700, 8));
  LoopBatch batch(2, 20, 1);
  batch.ids[20 + 13] = FAKE_NAN_TOKEN;
  std::vector<float> out(2 * 19, -1);
  Result<void> done = runDerivedEntry(fake, "score", batch, "logprobs", out);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Rejected);
  EXPECT_NE(done.error().message.find("position 13"), std::string::npos)
      << done.error().message;
  EXPECT_NE(done.error().message.find("row 1"), std::string::npos)
      << done.error().message;
  // The logits are returned unchanged.
  std::vector<float> logits(2 * 20 * FAKE_VOCABULARY, -1);
  ASSERT_TRUE(bool(runDerivedEntry(fake, "logits", batch, "logits", logits)));
  EXPECT_TRUE(std::isnan(logits[(20 + 13) * FAKE_VOCABULARY]));
}

TEST(DerivedEntries, a_fit_session_takes_the_run) {
  auto model = fakeModel(fakeDecoderManifest());
  LoopBatch batch(12, 300, 1);
  auto inputs = batch.inputs();
  Capacity capacity;
  ASSERT_TRUE(bool(fitCapacity(*model, "logits", inputs.data(), 2, capacity)));
  EXPECT_EQ(capacity.maxTokens, 1024);
  EXPECT_EQ(capacity.maxSequences, 8);
  EXPECT_EQ(capacity.maxKvTokens, 8 * 300);
  FakeDecoder fake(decoderConfig(capacity.maxSequences, capacity.maxKvTokens,
                                 capacity.maxTokens));
  std::vector<float> out(12 * 300 * FAKE_VOCABULARY, -1);
  EXPECT_TRUE(bool(runDerivedEntry(fake, "logits", batch, "logits", out)));
  EXPECT_EQ(fitCapacity(*model, "step", nullptr, 0, capacity).error().status,
            Status::Usage);
}
