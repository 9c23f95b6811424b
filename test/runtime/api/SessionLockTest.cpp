// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session that several threads use, that its own callback uses, and that is
// freed too early; a model that is freed before its sessions.
#include "runtime/api/SessionLock.h"
#include "test/support/fake/FakeGeneration.h"
#include <cstring>
#include <thread>

using namespace transom;
using namespace transom::test;
using transom::api::SessionLock;

TEST(SessionLock, one_call_at_a_time) {
  SessionLock lock;
  for (int round = 0; round != 2; ++round) {
    ASSERT_TRUE(bool(lock.acquire()));
    Result<void> again = lock.acquire();
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().status, Status::Usage);
    EXPECT_NE(again.error().message.find("callback"), std::string::npos);
    std::thread([&] {
      Result<void> other = lock.acquire();
      ASSERT_FALSE(other);
      EXPECT_NE(other.error().message.find("in use by another thread"),
                std::string::npos);
    }).join();
    EXPECT_FALSE(lock.release());
  }
}

TEST(SessionLock, the_call_in_progress_frees_what_is_given_up) {
  int ended = 0;
  SessionLock idle;
  EXPECT_TRUE(idle.giveUp([&] { ++ended; }));
  EXPECT_EQ(ended, 0);
  SessionLock busy;
  ASSERT_TRUE(bool(busy.acquire()));
  EXPECT_FALSE(busy.giveUp([&] { ++ended; }));
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(busy.release());
}

using ApiSessions = FakeGeneration;

TEST_F(ApiSessions, threads_on_one_session_get_an_error_or_right_bits) {
  options.biases = nullptr;
  const std::vector<int64_t> prompt = {1, 2, 3};
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK);
  const std::vector<int64_t> expected = ids(0);
  std::atomic<int> right{0}, refused{0}, wrong{0};
  auto run = [&] {
    for (int round = 0; round != 200; ++round) {
      transom_generation *made = nullptr;
      const transom_prompt given = makePrompt(prompt);
      const transom_status status =
          transom_session_generate(session, &given, 1, &options, &made);
      transom_decoder_info info = transom_decoder_info_default();
      (void)transom_session_get_decoder(session, &info);
      if (status == TRANSOM_STATUS_USAGE) {
        ++refused;
        continue;
      }
      transom_continuation one = transom_continuation_default();
      transom_generation_get(made, 0, &one);
      if (status == TRANSOM_STATUS_OK &&
          std::vector<int64_t>(one.ids, one.ids + one.num_ids) == expected)
        ++right;
      else
        ++wrong;
      transom_generation_free(made);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i != 3; ++i)
    threads.emplace_back(run);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 0);
  EXPECT_EQ(right + refused, 600);
  EXPECT_EQ(freeSequences(), 3);
  transom_generation_free(generation);
}

TEST_F(ApiSessions, a_callback_uses_no_other_function_of_its_session) {
  struct Seen {
    transom_session *session;
    int calls = 0;
  } seen{session};
  options.callback_context = &seen;
  options.callback = [](void *context, const transom_generated_token *) {
    auto &seen = *static_cast<Seen *>(context);
    ++seen.calls;
    int32_t sequence = -7;
    EXPECT_EQ(transom_sequence_create(seen.session, &sequence),
              TRANSOM_STATUS_USAGE);
    EXPECT_NE(std::strstr(transom_last_error(), "callback"), nullptr);
    EXPECT_EQ(sequence, -7);
    transom_decoder_info info = transom_decoder_info_default();
    EXPECT_EQ(transom_session_get_decoder(seen.session, &info),
              TRANSOM_STATUS_USAGE);
    EXPECT_EQ(
        transom_session_run(seen.session, "logits", nullptr, 0, nullptr, 0),
        TRANSOM_STATUS_USAGE);
    transom_generation *other = nullptr;
    EXPECT_EQ(
        transom_session_generate(seen.session, nullptr, 0, nullptr, &other),
        TRANSOM_STATUS_USAGE);
    std::thread([&] {
      EXPECT_EQ(transom_sequence_create(seen.session, &sequence),
                TRANSOM_STATUS_USAGE);
      EXPECT_NE(std::strstr(transom_last_error(), "in use by another thread"),
                nullptr);
    }).join();
    return 0;
  };
  const std::vector<int64_t> prompt = {1, 2, 3};
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK);
  EXPECT_EQ(seen.calls, 9);
  EXPECT_EQ(freeSequences(), 3);
  transom_generation_free(generation);
}

TEST_F(ApiSessions, a_callback_uses_another_session) {
  transom_session *other = nullptr;
  ASSERT_EQ(transom_session_create(model, nullptr, &other), TRANSOM_STATUS_OK);
  options.callback_context = other;
  options.callback = [](void *context, const transom_generated_token *) {
    auto *session = static_cast<transom_session *>(context);
    const int64_t tokens[] = {1, 2, 3};
    double scores[2];
    EXPECT_EQ(transom_session_score(session, tokens, 3, scores, nullptr, 0),
              TRANSOM_STATUS_OK)
        << transom_last_error();
    return 0;
  };
  const std::vector<int64_t> prompt = {1, 2, 3};
  EXPECT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK);
  transom_session_free(other);
  transom_generation_free(generation);
}

TEST_F(ApiSessions, a_session_that_its_callback_frees_ends_with_the_call) {
  options.callback_context = session;
  options.callback = [](void *context, const transom_generated_token *token) {
    if (token->id >= 0)
      transom_session_free(static_cast<transom_session *>(context));
    return 0;
  };
  const std::vector<int64_t> prompt = {1, 2, 3};
  EXPECT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_CANCELLED);
  session = nullptr;
  ASSERT_NE(generation, nullptr);
  EXPECT_EQ(ids(0).size(), 1u);
  transom_generation_free(generation);
}

TEST_F(ApiSessions, a_model_may_be_freed_before_its_sessions) {
  transom_session *other = nullptr;
  ASSERT_EQ(transom_session_create(model, nullptr, &other), TRANSOM_STATUS_OK);
  const std::vector<int64_t> prompt = {1, 2, 3};
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK);
  const std::vector<int64_t> expected = ids(0);
  transom_model_free(model);
  model = nullptr;
  transom_session_free(other);
  ASSERT_EQ(generate({makePrompt(prompt)}), TRANSOM_STATUS_OK)
      << transom_last_error();
  EXPECT_EQ(ids(0), expected);
  transom_session_free(session);
  session = nullptr;
  EXPECT_EQ(ids(0), expected) << "a generation needs neither";
  transom_generation_free(generation);
}
