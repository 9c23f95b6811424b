// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An encoder-decoder's derived entries: targets after sources, labels, and
// classes.
#include "test/runtime/session/LoopBatch.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

/// A batch with sources and with targets or labels.
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
  /// The last logit for all tokens in a row.
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

/// The step's logit after these tokens in a sequence with this source.
std::vector<float> getExpected(const std::vector<int64_t> &tokens,
                               float source) {
  std::vector<float> logits = expectedLogits(tokens);
  logits.back() = source;
  return logits;
}

/// The scores for a row, whose first token is predicted from `first`.
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

TEST(DerivedSourceEntries, logits_of_an_encoder_decoder) {
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

TEST(DerivedSourceEntries, scores_of_an_encoder_decoder) {
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

TEST(DerivedSourceEntries, wrong_sources_are_refused_before_results) {
  FakeDecoder fake(decoderConfig(3, 700, 64), sourceManifest());
  // A rejected batch leaves its results unchanged.
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
  // A source without tokens, and wrong ids.
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
  // Wrong labels, and a source over the limit.
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

TEST(DerivedSourceEntries, scores_need_a_start_token) {
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

// A row's classes are at its last end token, and each token is predicted from
// the previous one.
TEST(DerivedSourceEntries, classes_of_an_encoder_decoder) {
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

    // The class end token has precedence over generation end tokens.
    Manifest own = manifest;
    own.decoder->classToken = 5;
    FakeDecoder other(decoderConfig(3, 700, maxTokens), own);
    for (int64_t b = 0; b != 4; ++b)
      batch.source.ids[size_t(b * 33)] = 5;
    done = runDerivedEntry(other, "classify", batch.source, "logits", out);
    EXPECT_TRUE(done) << done.error().message;
  }
}
