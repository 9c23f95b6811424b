// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generation C API over the hand-written decoder: options, handles, the
// callback and cancelling.
#include "runtime/session/Generate.h"
#include "test/support/fake/FakeGeneration.h"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {

using ApiGenerate = FakeGeneration;

/// Greedy without the token whose logits are unspecified.
std::vector<int64_t> generateGreedily(std::vector<int64_t> past, size_t count) {
  const size_t prompt = past.size();
  while (past.size() != prompt + count) {
    std::vector<float> logits = expectedLogits(past);
    logits.back() = -INFINITY;
    past.push_back(std::max_element(logits.begin(), logits.end()) -
                   logits.begin());
  }
  return {past.begin() + int64_t(prompt), past.end()};
}

const transom_logit_bias noLast = {FAKE_VOCABULARY - 1, -INFINITY};

} // namespace

TEST_F(ApiGenerate, continuations) {
  options.biases = &noLast;
  options.num_biases = 1;
  const std::vector<int64_t> first = {1, 2, 3}, second = randomTokens(40, 1);
  ASSERT_EQ(generate({makePrompt(first), makePrompt(second), {}}),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  ASSERT_EQ(transom_generation_count(generation), 3u);
  EXPECT_EQ(ids(0), generateGreedily(first, 9));
  EXPECT_EQ(ids(1), generateGreedily(second, 9));
  EXPECT_EQ(ids(2), generateGreedily({2}, 9)); // the begin token
  EXPECT_EQ(row(1).prompt, 1u);
  EXPECT_EQ(row(1).prompt_tokens, 40u);
  EXPECT_EQ(row(1).finish, TRANSOM_FINISH_LENGTH);
  EXPECT_STREQ(transom_finish_name(row(1).finish), "length");
  EXPECT_EQ(row(1).logprobs, nullptr);
  EXPECT_EQ(freeSequences(), 3);
  transom_continuation none = transom_continuation_default();
  EXPECT_EQ(transom_generation_get(generation, 3, &none), TRANSOM_STATUS_USAGE);
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, log_probabilities) {
  options.max_new_tokens = 4;
  options.top_logprobs = 3;
  const std::vector<int64_t> prompt = {4, 5};
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_continuation one = row(0);
  ASSERT_EQ(one.num_top, 3u);
  std::vector<int64_t> text = prompt;
  text.insert(text.end(), one.ids, one.ids + one.num_ids);
  std::vector<double> scores(5);
  std::vector<transom_token_logprob> top(5 * 3);
  ASSERT_EQ(transom_session_score(session, text.data(), 6, scores.data(),
                                  top.data(), 3),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  for (size_t i = 0; i != 4; ++i) {
    EXPECT_EQ(scores[i + 1], one.logprobs[i]);
    for (size_t k = 0; k != 3; ++k) {
      EXPECT_EQ(top[3 * (i + 1) + k].id, one.top[3 * i + k].id);
      EXPECT_EQ(top[3 * (i + 1) + k].logprob, one.top[3 * i + k].logprob);
    }
  }
  transom_text_score whole;
  ASSERT_EQ(
      transom_session_score_windows(session, text.data(), 6, 6, 6, &whole),
      TRANSOM_STATUS_OK);
  EXPECT_EQ(whole.tokens, 5);
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, cancelled_by_the_callback) {
  struct Seen {
    transom_session *session;
    std::vector<int64_t> ids;
  } seen = {session, {}};
  options.callback = [](void *context, const transom_generated_token *token) {
    auto &all = *static_cast<Seen *>(context);
    all.ids.push_back(token->id);
    if (all.ids.size() == 4)
      transom_session_cancel(all.session);
    return 0;
  };
  options.callback_context = &seen;
  const std::vector<int64_t> prompt = {1};
  EXPECT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_CANCELLED);
  ASSERT_NE(generation, nullptr);
  EXPECT_EQ(row(0).finish, TRANSOM_FINISH_CANCELLED);
  std::vector<int64_t> made = ids(0);
  made.push_back(-1);
  EXPECT_EQ(seen.ids, made);
  EXPECT_EQ(freeSequences(), 3);
  options.callback = [](void *, const transom_generated_token *) { return 1; };
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK);
  EXPECT_EQ(ids(0).size(), 1u);
  EXPECT_EQ(row(0).finish, TRANSOM_FINISH_CANCELLED);
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, cancelled_at_the_last_token) {
  options.max_new_tokens = 3;
  options.callback_context = session;
  options.callback = [](void *context, const transom_generated_token *token) {
    if (token->finish == TRANSOM_FINISH_LENGTH)
      transom_session_cancel(static_cast<transom_session *>(context));
    return 0;
  };
  const std::vector<int64_t> prompt = {1};
  EXPECT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_CANCELLED);
  EXPECT_EQ(ids(0).size(), 3u);
  EXPECT_EQ(row(0).finish, TRANSOM_FINISH_LENGTH);
  options.callback = nullptr;
  EXPECT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, refusals_leave_the_session_usable) {
  const std::vector<int64_t> nan = {1, FAKE_NAN_TOKEN}, fine = {1};
  EXPECT_EQ(generate({makePrompt(nan)}), TRANSOM_STATUS_REJECTED);
  EXPECT_EQ(generation, nullptr);
  EXPECT_EQ(std::string(transom_last_error())
                .find("prompt 0: non-finite logit at position 1"),
            0u)
      << transom_last_error();
  const std::vector<int64_t> outside = {FAKE_VOCABULARY}, longer(601, 1);
  EXPECT_EQ(generate({makePrompt(outside)}), TRANSOM_STATUS_REJECTED);
  EXPECT_EQ(generate({makePrompt(longer)}), TRANSOM_STATUS_LIMIT);
  options.context_policy = 7;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_USAGE);
  options = transom_generate_options_default();
  options.num_beams = 4;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_LIMIT);
  EXPECT_STREQ(transom_last_error(),
               "'num_beams' 4 is more than the session's 3 sequences");
  options.num_beams = 2;
  options.temperature = 0.7;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_UNSUPPORTED);
  options = transom_generate_options_default();
  options.early_stopping = 3;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_USAGE);
  options = transom_generate_options_default();
  const int64_t word = FAKE_VOCABULARY;
  const size_t size = 1, empty = 0;
  options.bad_words = &word;
  options.bad_word_sizes = &size;
  options.num_bad_words = 1;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_REJECTED);
  options.bad_word_sizes = &empty;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_USAGE);
  options = transom_generate_options_default();
  options.top_p = 2;
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_USAGE);
  options = transom_generate_options_default();
  transom_text stop = {"x", 1};
  options.stops = &stop;
  options.num_stops = 1;
  EXPECT_EQ(generate({makePrompt(fine)}),
            TRANSOM_STATUS_UNSUPPORTED); // no tokenizer
  options = transom_generate_options_default();
  transom_prompt text = {nullptr, 0, {"x", 1}};
  EXPECT_EQ(generate({text}), TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(
      transom_session_generate(session, nullptr, 1, &options, &generation),
      TRANSOM_STATUS_USAGE);
  EXPECT_EQ(freeSequences(), 3);
  EXPECT_EQ(generate({makePrompt(fine)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, beams_and_their_scores) {
  options.num_beams = 3;
  options.num_return_sequences = 2;
  options.max_new_tokens = 6;
  options.length_penalty = 0.5;
  const std::vector<int64_t> one = {1}, two = {3, 4, 5};
  ASSERT_EQ(generate({makePrompt(one), makePrompt(two)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  ASSERT_EQ(transom_generation_count(generation), 4u);
  transom_tensor scores{};
  EXPECT_EQ(transom_generation_scores(generation, &scores),
            TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(scores.capacity, 4 * sizeof(float));
  float values[4];
  scores.data = values;
  ASSERT_EQ(transom_generation_scores(generation, &scores), TRANSOM_STATUS_OK);
  EXPECT_EQ(scores.dtype, TRANSOM_DTYPE_F32);
  EXPECT_EQ(scores.shape[0], 4);
  for (size_t i = 0; i != 4; ++i)
    EXPECT_EQ(values[i], float(row(i).score));
  EXPECT_GE(values[0], values[1]);
  EXPECT_GE(values[2], values[3]);
  EXPECT_NE(ids(0), ids(1));
  // Only beams have scores.
  options.num_beams = 1;
  ASSERT_EQ(generate({makePrompt(one)}), TRANSOM_STATUS_OK);
  EXPECT_TRUE(std::isnan(row(0).score));
  EXPECT_EQ(transom_generation_scores(generation, &scores),
            TRANSOM_STATUS_USAGE);
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, target_prefixes) {
  openFile(sourceManifest(), 2000);
  options.biases = &noLast;
  options.num_biases = 1;
  options.max_new_tokens = 5;
  const std::vector<int64_t> source = {50, 60, 70}, prefix = {4, 5},
                             withStart = {fakeStartToken, 4, 5};
  const std::vector<transom_prompt> prefixes = {
      makePrompt(prefix), {}, makePrompt(withStart)};
  const std::vector<transom_prompt> sources(3, makePrompt(source));
  options.target_prefixes = prefixes.data();
  options.num_target_prefixes = prefixes.size();
  ASSERT_EQ(generate(sources), TRANSOM_STATUS_OK) << transom_last_error();
  EXPECT_EQ(ids(0), generateGreedily(withStart, 5));
  EXPECT_EQ(ids(1), generateGreedily({fakeStartToken}, 5));
  EXPECT_EQ(ids(2), ids(0));
  EXPECT_EQ(row(0).prompt_tokens, 3u);

  // The same from tensors, where only the last row has a prefix.
  std::vector<int64_t> batch = {50, 60, 70, 80};
  const transom_tensor input =
      makeTensor("input_ids", TRANSOM_DTYPE_I64, {2, 2}, batch);
  options.target_prefixes = &prefixes[1];
  options.num_target_prefixes = 2;
  transom_generation *other = nullptr;
  ASSERT_EQ(
      transom_session_generate_tensors(session, &input, 1, &options, &other),
      TRANSOM_STATUS_OK)
      << transom_last_error();
  std::swap(generation, other);
  EXPECT_EQ(ids(0), generateGreedily({fakeStartToken}, 5));
  EXPECT_EQ(ids(1), generateGreedily(withStart, 5));
  transom_generation_free(other);

  // A longer prefix needs more cache blocks.
  const size_t length = source.size();
  auto fit = [&](const std::vector<int64_t> &target) {
    const transom_prompt one = makePrompt(target);
    options.target_prefixes = &one;
    options.num_target_prefixes = 1;
    transom_session_options fitting = transom_session_options_default();
    EXPECT_EQ(transom_session_options_fit_generate(model, &length, 1, &options,
                                                   &fitting),
              TRANSOM_STATUS_OK)
        << transom_last_error();
    return fitting.max_kv_tokens;
  };
  EXPECT_EQ(fit(prefix), 256u);
  EXPECT_EQ(fit(randomTokens(600, 1)), 768u);
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, the_start_token_of_a_target) {
  openFile(sourceManifest(), 2000);
  options.biases = &noLast;
  options.num_biases = 1;
  options.max_new_tokens = 5;
  options.decoder_start_id = 4;
  const std::vector<int64_t> source = {50, 60, 70};
  ASSERT_EQ(generate({makePrompt(source)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(ids(0), generateGreedily({4}, 5));
  options.decoder_start_id = FAKE_VOCABULARY;
  EXPECT_EQ(generate({makePrompt(source)}), TRANSOM_STATUS_REJECTED);
}

TEST_F(ApiGenerate, more_sequences_are_planned_on_demand) {
  openFile(sourceManifest(), 2000);
  options.max_new_tokens = 5;
  options.num_beams = 4;
  const std::vector<size_t> lengths(40, 10);
  auto fit = [&](uint32_t sequences) {
    transom_session_options fitting = transom_session_options_default();
    fitting.max_sequences = sequences;
    EXPECT_EQ(transom_session_options_fit_generate(
                  model, lengths.data(), lengths.size(), &options, &fitting),
              TRANSOM_STATUS_OK)
        << transom_last_error();
    return fitting;
  };
  EXPECT_EQ(fit(0).max_sequences, 16u);
  EXPECT_EQ(fit(64).max_sequences, 64u);
  EXPECT_EQ(fit(64).max_kv_tokens, 4 * fit(0).max_kv_tokens);
  EXPECT_EQ(fit(64).max_source_tokens, 4 * fit(0).max_source_tokens);
  EXPECT_EQ(fit(300).max_sequences, 300u);
}

TEST_F(ApiGenerate, wrong_target_prefixes) {
  const std::vector<int64_t> ids = {1}, outside = {FAKE_VOCABULARY};
  transom_prompt prefix = makePrompt(ids);
  options.target_prefixes = &prefix;
  options.num_target_prefixes = 1;
  EXPECT_EQ(generate({makePrompt(ids)}), TRANSOM_STATUS_USAGE);
  EXPECT_STREQ(transom_last_error(),
               "'target_prefixes' need an encoder-decoder");
  openFile(sourceManifest(), 2000);
  EXPECT_EQ(generate({makePrompt(ids), makePrompt(ids)}), TRANSOM_STATUS_USAGE);
  EXPECT_STREQ(transom_last_error(),
               "there are 2 prompts, got a num_target_prefixes of 1");
  options.target_prefixes = nullptr;
  EXPECT_EQ(generate({makePrompt(ids)}), TRANSOM_STATUS_USAGE);
  options.target_prefixes = &prefix;
  prefix = makePrompt(outside);
  EXPECT_EQ(generate({makePrompt(ids)}), TRANSOM_STATUS_REJECTED);
  EXPECT_NE(std::strstr(transom_last_error(), "prompt 0: target: id"), nullptr)
      << transom_last_error();
  prefix = {nullptr, 0, {"x", 1}};
  EXPECT_EQ(generate({makePrompt(ids)}), TRANSOM_STATUS_UNSUPPORTED);
  prefix.num_ids = 2;
  EXPECT_EQ(generate({makePrompt(ids)}), TRANSOM_STATUS_USAGE);
  // A caller with an older struct has none.
  options.struct_size = offsetof(transom_generate_options, target_prefixes);
  EXPECT_EQ(generate({makePrompt(ids)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  transom_generation_free(generation);
}

TEST_F(ApiGenerate, older_callers_have_shorter_options) {
  options.max_new_tokens = 5;
  options.seed = 1;
  options.struct_size = offsetof(transom_generate_options, seed);
  options.ignore_end = 99;
  const std::vector<int64_t> prompt = {1};
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(ids(0).size(), 5u);
  options.struct_size = 3;
  EXPECT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_generate(session, nullptr, 0, nullptr, &generation),
            TRANSOM_STATUS_OK);
  EXPECT_EQ(transom_generation_count(generation), 0u);
  transom_generation_free(generation);
}
