// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Impossible counts and sizes, and invalid enumeration values: an error before
// any element is read.
#include "test/runtime/api/FakeModelTest.h"
#include "test/runtime/text/TextModel.h"
#include "test/support/fake/FakeGeneration.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

/// Element counts that cannot exist, or not in this much memory.
constexpr size_t hugeCounts[] = {SIZE_MAX, SIZE_MAX / 2, size_t(1) << 62,
                                 size_t(1) << 60, size_t(1) << 40};

/// A text model from a file.
class ApiTexts : public testing::Test {
protected:
  void SetUp() override {
    writeFile(folder.path("model.so"), fakeFile(textManifest(), tables()));
    ASSERT_EQ(
        transom_model_load(folder.path("model.so").c_str(), nullptr, &model),
        TRANSOM_STATUS_OK)
        << transom_last_error();
    ASSERT_EQ(transom_session_create(model, nullptr, &session),
              TRANSOM_STATUS_OK);
  }
  void TearDown() override {
    transom_session_free(session);
    transom_model_free(model);
  }
  TemporaryFolder folder;
  transom_model *model = nullptr;
  transom_session *session = nullptr;
};

using ApiCounts = FakeGeneration;

void ignoreVectors(void *, const transom_token_vectors *) {}

} // namespace

TEST_F(ApiTexts, counts_are_compared_with_the_room_first) {
  const transom_text one = text("a b");
  float out[8] = {};
  size_t truncated = 77;
  for (size_t count : hugeCounts) {
    EXPECT_EQ(transom_session_embed(session, &one, count, nullptr, out,
                                    sizeof out, &truncated),
              TRANSOM_STATUS_LIMIT);
    // The model is not a classifier; this error comes before more texts are
    // read.
    EXPECT_EQ(transom_session_classify(session, &one, nullptr, count, out,
                                       sizeof out, &truncated),
              count == size_t(1) << 40 ? TRANSOM_STATUS_UNSUPPORTED
                                       : TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_rerank(session, &one, &one, count, out,
                                     sizeof out, &truncated),
              TRANSOM_STATUS_LIMIT);
    EXPECT_EQ(transom_session_zero_shot(session, &one, &one, count, 0, out,
                                        sizeof out, nullptr),
              TRANSOM_STATUS_LIMIT);
  }
  EXPECT_EQ(truncated, 77u);
}

TEST_F(ApiTexts, arrays_that_cannot_exist_are_wrong_usage) {
  const transom_text one = text("a b");
  const int64_t id = 3;
  size_t size = 0;
  int64_t layer = 0;
  for (size_t count : {SIZE_MAX, SIZE_MAX / 2, size_t(1) << 60}) {
    EXPECT_EQ(transom_session_embed_tokens_batch(session, &one, count, nullptr,
                                                 nullptr, 0, ignoreVectors,
                                                 nullptr),
              TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_embed_tokens_batch(session, &one, 1, nullptr,
                                                 &layer, count, ignoreVectors,
                                                 nullptr),
              TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_find_entities(session, &one, &one, count, nullptr,
                                            nullptr, 0, &size, nullptr),
              TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_model_detokenize(model, &id, count, 0, nullptr, 0, &size),
              TRANSOM_STATUS_USAGE);
    EXPECT_NE(std::strstr(transom_last_error(), "cannot have"), nullptr);
  }
  const transom_text endless = {"a", SIZE_MAX};
  EXPECT_EQ(transom_model_tokenize(model, &endless, nullptr, nullptr, nullptr,
                                   0, &size, nullptr),
            TRANSOM_STATUS_USAGE);
}

TEST_F(ApiTexts, enumerations_are_checked_as_numbers) {
  const transom_text one = text("a b");
  float out[64] = {}, numbers[8] = {};
  size_t count = 0;
  for (int32_t wrong : {-1, 3, 4, 5, 77, INT32_MAX}) {
    transom_embed_options options = transom_embed_options_default();
    options.pooling = transom_pooling(wrong);
    EXPECT_EQ(transom_session_embed(session, &one, 1, &options, out, sizeof out,
                                    nullptr),
              TRANSOM_STATUS_USAGE)
        << wrong;
    if (wrong != 3) {
      EXPECT_EQ(transom_quantize_embeddings(numbers, 2, 4,
                                            transom_precision(wrong), nullptr,
                                            out, sizeof out),
                TRANSOM_STATUS_USAGE)
          << wrong;
    }
    if (wrong < 0 || wrong > 4) {
      transom_span span;
      EXPECT_EQ(transom_session_tag(session, &one, transom_span_merge(wrong),
                                    &span, sizeof span, &count, nullptr),
                TRANSOM_STATUS_USAGE)
          << wrong;
    }
  }
  EXPECT_EQ(transom_model_detokenize(model, nullptr, 0, 4, nullptr, 0, &count),
            TRANSOM_STATUS_USAGE);
  EXPECT_STREQ(transom_status_name(transom_status(55)), "unknown");
  EXPECT_STREQ(transom_dtype_name(transom_dtype(55)), "unknown");
  EXPECT_EQ(transom_dtype_size(transom_dtype(-55)), 0u);
  EXPECT_STREQ(transom_finish_name(transom_finish(-3)), "none");
  transom_tensor input = {};
  int64_t id = 1;
  input.name = "input_ids";
  input.dtype = transom_dtype(9);
  input.rank = 2;
  input.shape[0] = input.shape[1] = 1;
  input.data = &id;
  input.capacity = sizeof id;
  EXPECT_EQ(transom_session_run(session, "encode", &input, 1, nullptr, 0),
            TRANSOM_STATUS_REJECTED);
  EXPECT_NE(std::strstr(transom_last_error(), "unknown"), nullptr);
  transom_session_options sizes = transom_session_options_default();
  sizes.profile = 3;
  uint64_t bytes = 0;
  EXPECT_EQ(transom_model_memory(model, &sizes, &bytes), TRANSOM_STATUS_USAGE);
}

TEST_F(ApiTexts, products_of_counts_and_sizes) {
  float number = 1;
  char out[8] = {};
  for (size_t huge : hugeCounts) {
    // Any number of empty embeddings needs no work.
    EXPECT_EQ(transom_quantize_embeddings(&number, huge, 0,
                                          TRANSOM_PRECISION_BINARY, nullptr,
                                          out, sizeof out),
              TRANSOM_STATUS_OK);
    EXPECT_EQ(transom_model_similarity(model, &number, huge, nullptr, 0, 3,
                                       nullptr, 0),
              huge <= size_t(1) << 40 ? TRANSOM_STATUS_OK
                                      : TRANSOM_STATUS_LIMIT);
    for (transom_precision precision :
         {TRANSOM_PRECISION_INT8, TRANSOM_PRECISION_BINARY,
          TRANSOM_PRECISION_UBINARY}) {
      EXPECT_EQ(transom_quantize_embeddings(&number, huge, 8, precision,
                                            nullptr, out, sizeof out),
                TRANSOM_STATUS_LIMIT);
      EXPECT_EQ(transom_quantize_embeddings(&number, 2, huge, precision,
                                            nullptr, out, sizeof out),
                TRANSOM_STATUS_LIMIT);
    }
    EXPECT_EQ(transom_model_similarity(model, &number, huge, &number, huge, 1,
                                       &number, sizeof number),
              TRANSOM_STATUS_LIMIT);
  }
  EXPECT_EQ(transom_model_similarity(model, &number, 1, &number, 1, SIZE_MAX,
                                     &number, sizeof number),
            TRANSOM_STATUS_LIMIT);
}

TEST_F(ApiCounts, of_ids_and_prompts) {
  const std::vector<int64_t> ids = {1, 2};
  const transom_prompt prompt = makePrompt(ids);
  double logprobs[1];
  transom_text_score score;
  transom_session_options sizes = transom_session_options_default();
  const transom_step_input step = {0, ids.data(), 1, 0};
  int32_t sequence = -7;
  size_t length = 3;
  for (size_t count : hugeCounts) {
    SCOPED_TRACE(count);
    const bool canExist = count <= size_t(1) << 40;
    EXPECT_EQ(
        transom_session_score(session, ids.data(), count, logprobs, nullptr, 0),
        canExist ? TRANSOM_STATUS_LIMIT : TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_step(session, &step, count, nullptr, 0),
              canExist ? TRANSOM_STATUS_LIMIT : TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_add_sources(session, &prompt, count, &sequence),
              TRANSOM_STATUS_USAGE);
    if (canExist)
      continue;
    EXPECT_EQ(
        transom_session_score_windows(session, ids.data(), count, 8, 4, &score),
        TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_generate(session, &prompt, count, &options,
                                       &generation),
              TRANSOM_STATUS_USAGE);
    const transom_prompt longer = {ids.data(), count, {}};
    EXPECT_EQ(generate({longer}), TRANSOM_STATUS_USAGE);
    EXPECT_EQ(transom_session_options_fit_generate(model, &length, count,
                                                   &options, &sizes),
              TRANSOM_STATUS_USAGE);
  }
  EXPECT_EQ(sequence, -7);
}

TEST_F(ApiCounts, of_options) {
  const std::vector<int64_t> ids = {1, 2};
  const transom_logit_bias bias = {1, 0};
  const transom_text stop = {"x", 1};
  const transom_prompt prompt = makePrompt(ids);
  const size_t size = SIZE_MAX;
  const transom_generate_options plain = options;
  std::vector<transom_generate_options> wrong(6, plain);
  wrong[0].biases = &bias;
  wrong[0].num_biases = SIZE_MAX;
  wrong[1].stops = &stop;
  wrong[1].num_stops = SIZE_MAX;
  wrong[2].end_ids = ids.data();
  wrong[2].num_end_ids = SIZE_MAX;
  wrong[3].bad_words = ids.data();
  wrong[3].bad_word_sizes = &size;
  wrong[3].num_bad_words = SIZE_MAX;
  wrong[4].bad_words = ids.data();
  wrong[4].bad_word_sizes = &size;
  wrong[4].num_bad_words = 1;
  wrong[5].context_policy = 3;
  for (const transom_generate_options &each : wrong) {
    options = each;
    EXPECT_EQ(generate({prompt}), TRANSOM_STATUS_USAGE);
  }
  options = plain;
  EXPECT_EQ(generate({prompt}), TRANSOM_STATUS_OK);
  transom_generation_free(generation);
}

TEST_F(ApiCounts, errors_leave_results_alone) {
  int64_t length = 77;
  EXPECT_EQ(transom_sequence_length(session, 2, &length), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(length, 77);
  const int64_t *nanoseconds = &length;
  size_t count = 77;
  EXPECT_EQ(transom_session_get_profile(session, &nanoseconds, &count),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(nanoseconds, &length);
  EXPECT_EQ(count, 77u);
  // Handles are NULL after an error.
  auto *anything = reinterpret_cast<transom_session *>(&length);
  EXPECT_EQ(transom_session_create(nullptr, nullptr, &anything),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(anything, nullptr);
  auto *other = reinterpret_cast<transom_model *>(&length);
  EXPECT_EQ(transom_model_load(nullptr, nullptr, &other), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(other, nullptr);
  generation = reinterpret_cast<transom_generation *>(&length);
  EXPECT_EQ(transom_session_generate(nullptr, nullptr, 0, nullptr, &generation),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(generation, nullptr);
}
