// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry `generate` on tensors: its shapes, its results, and its memory
// requirements.
#include "runtime/session/Generate.h"
#include "test/support/fake/FakeDecoder.h"
#include "test/support/fake/FakeGeneration.h"
#include <algorithm>
#include <cstring>

using namespace transom;
using namespace transom::test;

using Generate = FakeGeneration;

TEST_F(Generate, the_entry) {
  std::vector<int64_t> ids = {9, 0, 0, 1, 2, 3}, mask = {1, 0, 0, 1, 1, 1};
  std::vector<int64_t> result(18, -7);
  transom_tensor inputs[] = {
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {2, 3}, ids),
      makeTensor("attention_mask", TRANSOM_DTYPE_I64, {2, 3}, mask)};
  transom_tensor shape{};
  ASSERT_EQ(transom_session_shape(session, "generate", inputs, 2, "output_ids",
                                  &shape),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(shape.shape[0], 2);
  EXPECT_EQ(shape.shape[1], 9);
  EXPECT_EQ(shape.capacity, 18 * sizeof(int64_t));
  transom_tensor output =
      makeTensor("output_ids", TRANSOM_DTYPE_I64, {}, result);
  ASSERT_EQ(transom_session_run(session, "generate", inputs, 2, &output, 1),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  const std::vector<int64_t> single = {9}, three = {1, 2, 3};
  ASSERT_EQ(generate({makePrompt(single), makePrompt(three)}),
            TRANSOM_STATUS_OK);
  std::vector<int64_t> expected = this->ids(0), second = this->ids(1);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(result, expected);
  output.capacity = 8;
  EXPECT_EQ(transom_session_run(session, "generate", inputs, 2, &output, 1),
            TRANSOM_STATUS_LIMIT);
  mask[0] = 2;
  output.capacity = 18 * sizeof(int64_t);
  EXPECT_EQ(transom_session_run(session, "generate", inputs, 2, &output, 1),
            TRANSOM_STATUS_REJECTED);
  EXPECT_EQ(
      transom_session_shape(session, "generate", inputs, 2, "ids", &shape),
      TRANSOM_STATUS_REJECTED);
  transom_generation_free(generation);
}

TEST_F(Generate, scores_of_beams) {
  std::vector<int64_t> ids = {1, 2, 3, 4}, rows(4 * 5, -7);
  std::vector<float> values(4, -1), expected(4, -1);
  transom_tensor input =
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {2, 2}, ids);
  transom_tensor shape{}, scores{};
  transom_tensor outputs[] = {
      makeTensor("scores", TRANSOM_DTYPE_F32, {}, values),
      makeTensor("output_ids", TRANSOM_DTYPE_I64, {}, rows)};
  auto run = [&] {
    return transom_session_run(session, "generate", &input, 1, outputs, 2);
  };
  EXPECT_EQ(run(), TRANSOM_STATUS_USAGE);
  EXPECT_STREQ(transom_last_error(),
               "there are no scores without beams; 'num_beams' is 1");
  EXPECT_EQ(rows, std::vector<int64_t>(20, -7));
  open(R"({"max_new_tokens":5,"num_beams":3,"num_return_sequences":2})");
  ASSERT_EQ(
      transom_session_shape(session, "generate", &input, 1, "scores", &shape),
      TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(shape.dtype, TRANSOM_DTYPE_F32);
  EXPECT_EQ(shape.rank, 1);
  EXPECT_EQ(shape.shape[0], 4);
  EXPECT_EQ(shape.capacity, 4 * sizeof(float));
  ASSERT_EQ(run(), TRANSOM_STATUS_OK) << transom_last_error();
  EXPECT_EQ(outputs[0].shape[0], 4);
  ASSERT_EQ(transom_session_generate_tensors(session, &input, 1, nullptr,
                                             &generation),
            TRANSOM_STATUS_OK);
  scores.data = expected.data();
  scores.capacity = 4 * sizeof(float);
  ASSERT_EQ(transom_generation_scores(generation, &scores), TRANSOM_STATUS_OK);
  EXPECT_EQ(values, expected);
  EXPECT_LT(values[0], 0);

  // Wrong tensors are refused before the search.
  outputs[0].capacity = 15;
  EXPECT_EQ(run(), TRANSOM_STATUS_LIMIT);
  outputs[0].capacity = 16;
  outputs[0].strides[0] = 1;
  EXPECT_EQ(run(), TRANSOM_STATUS_REJECTED);
  outputs[0].strides[0] = 0;
  outputs[0].dtype = TRANSOM_DTYPE_I64;
  EXPECT_EQ(run(), TRANSOM_STATUS_REJECTED);
  EXPECT_STREQ(transom_last_error(), "result 'scores' is f32, got i64");
  transom_generation_free(generation);
}

TEST_F(Generate, output_ids_are_filled) {
  open(R"({"max_new_tokens":4,"pad_token_id":6})");
  const std::vector<int64_t> prompt = {1};
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK);
  const std::vector<int64_t> whole = ids(0);
  options.end_ids = whole.data(); // the first row ends at once
  options.num_end_ids = 1;
  std::vector<int64_t> other = {3};
  ASSERT_EQ(generate({makePrompt(prompt), makePrompt(other)}),
            TRANSOM_STATUS_OK);
  const size_t columns = std::max(ids(0).size(), ids(1).size());
  std::vector<int64_t> values(2 * columns);
  transom_tensor output{};
  EXPECT_EQ(transom_generation_output_ids(generation, &output),
            TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(output.capacity, values.size() * sizeof(int64_t));
  output.data = values.data();
  EXPECT_EQ(transom_generation_output_ids(generation, &output),
            TRANSOM_STATUS_OK);
  EXPECT_EQ(values[0], whole[0]);
  EXPECT_EQ(std::vector<int64_t>(values.begin() + 1,
                                 values.begin() + int64_t(columns)),
            std::vector<int64_t>(columns - 1, 6));
  transom_generation_free(generation);
}

TEST_F(Generate, settings_that_fit) {
  transom_session_options fitting = transom_session_options_default();
  const size_t lengths[] = {100, 300, 5};
  options.num_return_sequences = 4;
  options.max_new_tokens = 50;
  ASSERT_EQ(transom_session_options_fit_generate(model, lengths, 3, &options,
                                                 &fitting),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(fitting.max_sequences, 12u);
  // 100 and 5: one block each; 300: one shared, one each.
  EXPECT_EQ(fitting.max_kv_tokens, 256u * (4 + 4 + 5));
  EXPECT_GE(fitting.max_tokens, 12u);
  const size_t huge[] = {SIZE_MAX, SIZE_MAX, size_t(1) << 63};
  EXPECT_EQ(
      transom_session_options_fit_generate(model, huge, 3, &options, &fitting),
      TRANSOM_STATUS_OK);
  EXPECT_LE(fitting.max_kv_tokens, 12u * 768); // the context, in blocks
  EXPECT_EQ(fitting.max_tokens, 1024u);
}

TEST_F(Generate, shapes_without_end_are_refused) {
  open(R"({"max_new_tokens":9007199254740992,"num_return_sequences":65536})",
       {});
  std::vector<int64_t> ids = {1};
  transom_tensor input =
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {INT32_MAX, 1}, ids);
  transom_tensor shape{};
  EXPECT_EQ(transom_session_shape(session, "generate", &input, 1, "output_ids",
                                  &shape),
            TRANSOM_STATUS_REJECTED);
  EXPECT_NE(std::strstr(transom_last_error(), "are out of range"), nullptr)
      << transom_last_error();
  input.shape[0] = 1;
  transom_tensor output = makeTensor("output_ids", TRANSOM_DTYPE_I64, {}, ids);
  EXPECT_EQ(transom_session_run(session, "generate", &input, 1, &output, 1),
            TRANSOM_STATUS_REJECTED);
}

TEST(DecoderSource, gives_the_summary_of_the_models_step) {
  FakeDecoder fake(decoderConfig(2, 600), summaryManifest());
  Result<DecoderSource> source = DecoderSource::create(fake.session());
  ASSERT_TRUE(source) << source.error().message;
  const std::vector<int64_t> tokens = randomTokens(6, 2);
  // The summary has the max, and sums if they are requested.
  for (bool needsSums : {false, true}) {
    const NewTokens inputs[] = {{*source->create(), tokens.data(), 6, 2},
                                {*source->create(), tokens.data(), 3, 1}};
    Result<LogitRows> rows = source->stepSummarized(inputs, 2, needsSums);
    ASSERT_TRUE(rows) << rows.error().message;
    for (size_t i = 0; i != 3; ++i) {
      const LogitRow row = rows->get(i, FAKE_VOCABULARY);
      EXPECT_EQ(*row.maxima,
                *std::max_element(row.logits, row.logits + FAKE_VOCABULARY));
      EXPECT_EQ(row.sums != nullptr, needsSums);
    }
    for (const NewTokens &input : inputs)
      source->free(input.sequence);
  }
  // A model without a summary returns none.
  FakeDecoder plain;
  source = DecoderSource::create(plain.session());
  ASSERT_TRUE(source) << source.error().message;
  const NewTokens input{*source->create(), tokens.data(), 6, 1};
  Result<LogitRows> rows = source->stepSummarized(&input, 1, true);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->maxima, nullptr);
  expectRow(rows->logits, tokens);
}
