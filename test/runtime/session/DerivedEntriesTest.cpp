// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that are loops over a decoder's step: batches with padding
// anywhere, of any length, in the caller's tensors.
#include "test/support/fake/FakeDecoder.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace transom;
using namespace transom::test;

namespace {

/// A batch of ids and its mask.
struct LoopBatch {
  LoopBatch(int64_t batch, int64_t seq, unsigned seed, unsigned hidden = 0)
      : batch(batch), seq(seq), ids(randomTokens(size_t(batch * seq), seed)),
        mask(ids.size(), 1) {
    std::mt19937 random(seed);
    for (size_t i = 0; i != mask.size(); ++i)
      if (hidden && random() % hidden == 0) {
        mask[i] = 0;
        ids[i] = -7; // nobody looks at it
      }
  }
  std::vector<transom_tensor> inputs() {
    return {
        makeTensor("input_ids", TRANSOM_DTYPE_I64, {batch, seq}, ids),
        makeTensor("attention_mask", TRANSOM_DTYPE_I64, {batch, seq}, mask)};
  }
  /// The real tokens of a row up to a column.
  std::vector<int64_t> tokens(int64_t row, int64_t column) const {
    std::vector<int64_t> found;
    for (int64_t i = 0; i <= column; ++i)
      if (mask[size_t(row * seq + i)])
        found.push_back(ids[size_t(row * seq + i)]);
    return found;
  }
  bool isReal(int64_t row, int64_t column) const {
    return mask[size_t(row * seq + column)] != 0;
  }

  int64_t batch, seq;
  std::vector<int64_t> ids, mask;
};

Result<void> runDerivedEntry(FakeDecoder &fake, const char *entry,
                             LoopBatch &batch, const char *result,
                             std::vector<float> &out) {
  auto inputs = batch.inputs();
  transom_tensor output = makeTensor(result, TRANSOM_DTYPE_F32, {}, out);
  Result<void> done =
      fake.session().run(entry, inputs.data(), inputs.size(), &output, 1);
  EXPECT_EQ(fake->freeSequences(), fake->maxSequences());
  EXPECT_EQ(fake->freePositions(), fake->allPositions());
  return done;
}

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

/// log(softmax(logits))[token] in the plainest way.
double logProbability(std::vector<float> logits, int64_t token) {
  long double sum = 0;
  for (float logit : logits)
    sum += std::exp((long double)(logit));
  return double((long double)(logits[size_t(token)]) - std::log(sum));
}

} // namespace

TEST(DerivedEntries, logits_of_padded_batches) {
  for (int64_t maxTokens : {4, 64, 500})
    for (unsigned hidden : {0u, 2u, 5u}) {
      FakeDecoder fake(decoderConfig(3, 700, maxTokens));
      LoopBatch batch(7, 61, 11 + hidden, hidden);
      std::fill_n(batch.mask.begin() + 2 * 61, 61, 0); // a row of padding
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
  output.strides[0] = FAKE_VOCABULARY * 2;
  output.strides[1] = FAKE_VOCABULARY * 4;
  output.strides[2] = 2;
  Result<void> done = fake.session().run("logits", &input, 1, &output, 1);
  ASSERT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(output.shape[2], FAKE_VOCABULARY);
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
        // The last number of a row depends on the block alone: zero here.
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
  LoopBatch batch(2, 20, 1);
  batch.ids[25] = FAKE_VOCABULARY;
  expect(batch, Status::Rejected, "has the value 16 at [1, 5]");
  batch.mask[25] = 0;
  std::vector<float> keep = out;
  EXPECT_TRUE(bool(runDerivedEntry(fake, "logits", batch, "logits", out)));
  out = keep;
  batch.mask[3] = 2;
  expect(batch, Status::Rejected, "has the value 2 at [0, 3]; masks hold");
  LoopBatch longer(1, 51, 1);
  expect(longer, Status::Limit, "51 tokens, over the model's context of 50");
  longer.mask[7] = 0; // padding is no position
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
  auto expectFull = [&](const char *text) {
    Result<void> done =
        fake.session().run("logits", inputs.data(), 2, &output, 1);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().status, Status::Limit);
    EXPECT_NE(done.error().message.find(text), std::string::npos)
        << done.error().message;
    EXPECT_EQ(out, std::vector<float>(out.size(), -1));
  };
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(700, 2), 1);
  expectFull("the cache is full");
  int32_t other = fake.create();
  expectFull("all 2 sequences");
  fake->free(other);
  fake->free(sequence);
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
  // The logits are given as they are.
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

namespace {

/// A batch of sources, and of targets or labels.
struct SourceBatch {
  SourceBatch(int64_t batch, int64_t seq, int64_t targetSeq, unsigned seed)
      : source(batch, seq, seed, 4), target(batch, targetSeq, seed + 1, 5) {
    for (int64_t b = 0; b != batch; ++b)
      source.mask[size_t(b * seq)] = 1;
    for (int64_t &id : source.ids)
      id = std::max<int64_t>(id, 0);
    labels = target.ids;
    for (size_t i = 0; i != labels.size(); ++i)
      if (!target.mask[i])
        labels[i] = -100;
  }
  /// The last logit of all tokens of a row.
  float getSource(int64_t row) const {
    auto cut = [&](const std::vector<int64_t> &all) {
      return std::vector<int64_t>(all.begin() + row * source.seq,
                                  all.begin() + (row + 1) * source.seq);
    };
    return expectedSource(cut(source.ids), cut(source.mask));
  }
  Result<void> run(FakeDecoder &fake, const char *entry, const char *result,
                   std::vector<float> &out) {
    std::vector<transom_tensor> inputs = source.inputs();
    const std::vector<int64_t> shape = {target.batch, target.seq};
    if (std::string(entry) == "score") {
      inputs.push_back(makeTensor("labels", TRANSOM_DTYPE_I64, shape, labels));
    } else {
      inputs.push_back(makeTensor("decoder_input_ids", TRANSOM_DTYPE_I64, shape,
                                  target.ids));
      inputs.push_back(makeTensor("decoder_attention_mask", TRANSOM_DTYPE_I64,
                                  shape, target.mask));
    }
    transom_tensor output = makeTensor(result, TRANSOM_DTYPE_F32, {}, out);
    Result<void> done =
        fake.session().run(entry, inputs.data(), inputs.size(), &output, 1);
    EXPECT_EQ(fake->freeSequences(), fake->maxSequences());
    EXPECT_EQ(fake->freePositions(), fake->allPositions());
    return done;
  }

  LoopBatch source, target;
  std::vector<int64_t> labels;
};

/// What the step gives after these tokens in a sequence with this source.
std::vector<float> getExpected(const std::vector<int64_t> &tokens,
                               float source) {
  std::vector<float> logits = expectedLogits(tokens);
  logits.back() = source;
  return logits;
}

/// The scores of a row, whose first token is predicted from `first`.
void checkScores(const SourceBatch &batch, int64_t row, int64_t first,
                 const float *scores) {
  std::vector<int64_t> fed = {first};
  for (int64_t s = 0; s != batch.target.seq; ++s) {
    if (!batch.target.isReal(row, s)) {
      EXPECT_EQ(scores[s], 0);
      continue;
    }
    const int64_t label = batch.labels[size_t(row * batch.target.seq + s)];
    EXPECT_NEAR(scores[s],
                logProbability(getExpected(fed, batch.getSource(row)), label),
                1e-5)
        << row << " " << s;
    fed.push_back(label);
  }
}

} // namespace

TEST(DerivedEntries, logits_of_an_encoder_decoder) {
  for (int64_t maxTokens : {40, 64, 500})
    for (int64_t sequences : {1, 3, 8}) {
      FakeDecoder fake(decoderConfig(sequences, 700, maxTokens),
                       sourceManifest());
      SourceBatch batch(7, 40, 61, unsigned(maxTokens));
      std::fill_n(batch.target.mask.begin() + 2 * 61, 61, 0);
      std::vector<float> out(size_t(7 * 61 * FAKE_VOCABULARY), -1);
      Result<void> done = batch.run(fake, "logits", "logits", out);
      ASSERT_TRUE(done) << done.error().message;
      const float *row = out.data();
      for (int64_t b = 0; b != 7; ++b)
        for (int64_t s = 0; s != 61; ++s, row += FAKE_VOCABULARY)
          ASSERT_EQ(
              std::vector<float>(row, row + FAKE_VOCABULARY),
              batch.target.isReal(b, s)
                  ? getExpected(batch.target.tokens(b, s), batch.getSource(b))
                  : std::vector<float>(FAKE_VOCABULARY, 0))
              << b << " " << s;
    }
}

TEST(DerivedEntries, scores_of_an_encoder_decoder) {
  for (const char *startRule : {"", "last_label"})
    for (int64_t maxTokens : {40, 500}) {
      Manifest manifest = sourceManifest();
      manifest.decoder->startRule = startRule;
      FakeDecoder fake(decoderConfig(3, 700, maxTokens), manifest);
      SourceBatch batch(5, 30, 45, unsigned(maxTokens));
      std::fill_n(batch.target.mask.begin() + 45, 45, 0);
      std::fill_n(batch.labels.begin() + 45, 45, -100);
      std::vector<float> out(5 * 45, -1);
      Result<void> done = batch.run(fake, "score", "logprobs", out);
      ASSERT_TRUE(done) << done.error().message;
      for (int64_t b = 0; b != 5; ++b) {
        const std::vector<int64_t> target = batch.target.tokens(b, 44);
        const bool isLast = *startRule && !target.empty();
        checkScores(batch, b, isLast ? target.back() : fakeStartToken,
                    &out[size_t(b * 45)]);
      }
    }
}

TEST(DerivedEntries, wrong_sources_are_refused_before_results) {
  FakeDecoder fake(decoderConfig(3, 700, 64), sourceManifest());
  auto getError = [&](auto change, const char *entry = "logits") {
    SourceBatch batch(3, 10, 5, 1);
    change(batch);
    std::vector<float> out(3 * 5 * FAKE_VOCABULARY, -1);
    Result<void> done =
        batch.run(fake, entry, *entry == 'l' ? "logits" : "logprobs", out);
    EXPECT_FALSE(done);
    EXPECT_EQ(out, std::vector<float>(out.size(), -1));
    return done ? Error{Status::Ok, "", {}} : done.error();
  };
  Error error = getError([](SourceBatch &batch) {
    std::fill_n(batch.source.mask.begin() + 10, 10, 0);
  });
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message,
            "row 1 of 'input_ids' has no tokens; a source has 1 or more");
  error = getError([](SourceBatch &batch) { batch.source.ids[25] = 100; });
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_NE(error.message.find("'input_ids' has the value 100 at [2, 5]"),
            std::string::npos)
      << error.message;
  error = getError(
      [](SourceBatch &batch) { batch.labels[7] = FAKE_VOCABULARY; }, "score");
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_NE(error.message.find("'labels' has the value 16 at [1, 2]"),
            std::string::npos)
      << error.message;
  error =
      getError([](SourceBatch &batch) { batch.source = LoopBatch(3, 65, 1); });
  EXPECT_EQ(error.status, Status::Limit);
  EXPECT_NE(error.message.find("row 0 of 'input_ids' has 65 columns"),
            std::string::npos)
      << error.message;
}

TEST(DerivedEntries, scores_need_a_start_token) {
  Manifest manifest = sourceManifest();
  manifest.decoder->generation.clear();
  FakeDecoder fake(decoderConfig(3, 700, 64), manifest);
  SourceBatch batch(3, 10, 5, 1);
  std::vector<float> out(15, -1);
  Result<void> done = batch.run(fake, "score", "logprobs", out);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Rejected);
  EXPECT_NE(done.error().message.find("'decoder_start_token_id'"),
            std::string::npos);
}

// The classes of a row are those of its last end token, and each token is
// predicted from the one before it.
TEST(DerivedEntries, classes_of_an_encoder_decoder) {
  Manifest manifest = sourceManifest();
  manifest.decoder->classRow = "last_end";
  manifest.decoder->generation =
      R"({"decoder_start_token_id":3,"eos_token_id":[9,12]})";
  manifest.entries.resize(3);
  for (ManifestEntry &entry : getDerivedEntries(manifest))
    manifest.entries.push_back(std::move(entry));
  manifest.entries.back().name = "classify"; // the encoder has the usual name
  for (int64_t maxTokens : {40, 500}) {
    FakeDecoder fake(decoderConfig(3, 700, maxTokens), manifest);
    SourceBatch batch(4, 33, 1, 7);
    for (int64_t b = 0; b != 4; ++b)
      batch.source.ids[size_t(b * 33)] = b % 2 ? 9 : 12;
    std::vector<float> out(4 * FAKE_VOCABULARY, -1);
    Result<void> done =
        runDerivedEntry(fake, "classify", batch.source, "logits", out);
    ASSERT_TRUE(done) << done.error().message;
    for (int64_t b = 0; b != 4; ++b) {
      std::vector<int64_t> fed = batch.source.tokens(b, 32);
      while (fed.back() != 9 && fed.back() != 12)
        fed.pop_back();
      fed.pop_back();
      fed.insert(fed.begin(), fakeStartToken);
      const float *row = &out[size_t(b * FAKE_VOCABULARY)];
      EXPECT_EQ(std::vector<float>(row, row + FAKE_VOCABULARY),
                getExpected(fed, batch.getSource(b)));
    }

    // A row without an end token has no class.
    std::replace(batch.source.ids.begin() + 33, batch.source.ids.begin() + 66,
                 int64_t(9), int64_t(1));
    std::replace(batch.source.ids.begin() + 33, batch.source.ids.begin() + 66,
                 int64_t(12), int64_t(1));
    done = runDerivedEntry(fake, "classify", batch.source, "logits", out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().status, Status::Rejected);
    EXPECT_EQ(done.error().message,
              "row 1 of 'input_ids' has no end token, by which the model "
              "classifies");
  }
}
