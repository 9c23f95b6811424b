// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callbacks that throw, threads that are cancelled in a callback or in a call,
// and thread pools that omit tasks: the session stays usable.
#include "test/support/fake/FakeGeneration.h"
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

using namespace transom;
using namespace transom::test;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRANSOM_TEST_SANITIZED 1
#endif
#endif

namespace {

class ApiCallbacks : public FakeGeneration {
public:
  void generateBoth() { (void)generate(prompts); }
  transom_session *getSession() const { return session; }

protected:
  void SetUp() override {
    FakeGeneration::SetUp();
    prompts = {makePrompt(prompt), makePrompt(prompt)};
    ASSERT_EQ(generate(prompts), TRANSOM_STATUS_OK) << transom_last_error();
    expected = ids(1);
    plain = options;
  }
  /// The session returns the same bits and has all its sequences.
  void expectUnchanged() {
    options.callback = nullptr;
    ASSERT_EQ(generate(prompts), TRANSOM_STATUS_OK) << transom_last_error();
    EXPECT_EQ(ids(1), expected);
    EXPECT_EQ(freeSequences(), 3);
    transom_generation_free(generation);
    generation = nullptr;
  }

  const std::vector<int64_t> prompt = {1, 2, 3};
  std::vector<transom_prompt> prompts;
  std::vector<int64_t> expected;
  transom_generate_options plain;
};

} // namespace

TEST_F(ApiCallbacks, an_exception_of_the_host_is_its_own) {
  for (int64_t beams : {1, 3})
    for (bool isStandard : {true, false}) {
      options = plain;
      options.num_beams = beams;
      options.callback_context = &isStandard;
      options.callback = [](void *context,
                            const transom_generated_token *) -> int {
        if (*static_cast<bool *>(context))
          throw std::runtime_error("disk is full");
        throw 7;
      };
      EXPECT_EQ(generate(prompts), TRANSOM_STATUS_USAGE);
      EXPECT_EQ(generation, nullptr);
      EXPECT_STREQ(transom_last_error(),
                   isStandard ? "the host's callback threw: disk is full"
                              : "the host's callback threw an exception");
      EXPECT_EQ(freeSequences(), 3);
    }
  options = plain;
  expectUnchanged();
}

#ifndef TRANSOM_TEST_SANITIZED
TEST_F(ApiCallbacks, a_thread_that_is_cancelled_in_a_callback_ends) {
  for (int64_t beams : {1, 3}) {
    options = plain;
    options.num_beams = beams;
    std::atomic<bool> waits{false};
    options.callback_context = &waits;
    // The callback blocks at a cancellation point.
    options.callback = [](void *context, const transom_generated_token *) {
      *static_cast<std::atomic<bool> *>(context) = true;
      for (;;)
        usleep(1000); // a cancellation point
      return 0;
    };
    // Cancel the thread inside the callback; its sequences are freed.
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void *test) -> void * {
                    static_cast<ApiCallbacks *>(test)->generateBoth();
                    return nullptr;
                  },
                  this),
              0);
    while (!waits)
      std::this_thread::yield();
    pthread_cancel(thread);
    void *result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_EQ(freeSequences(), 3);
  }
  options = plain;
  expectUnchanged();
}

TEST_F(ApiCallbacks, a_thread_that_ends_itself_in_a_callback_ends) {
  options.callback = [](void *, const transom_generated_token *) -> int {
    pthread_exit(nullptr);
  };
  std::thread([&] { (void)generate(prompts); }).join();
  expectUnchanged();
}

TEST_F(ApiCallbacks, a_thread_that_is_cancelled_in_a_call_finishes_it) {
  // Both cancellation types, at any moment in calls that read and write files.
  const std::string path = folder.path("sequence");
  for (int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS})
    for (int round = 0; round != 20; ++round) {
      struct Calls {
        ApiCallbacks *test;
        const char *path;
        int type;
        std::atomic<int> count{0};
      } calls{this, path.c_str(), type};
      pthread_t thread;
      ASSERT_EQ(pthread_create(
                    &thread, nullptr,
                    [](void *given) -> void * {
                      Calls &calls = *static_cast<Calls *>(given);
                      int ignored;
                      pthread_setcanceltype(calls.type, &ignored);
                      transom_session *session = calls.test->getSession();
                      for (;; ++calls.count) {
                        const int64_t tokens[] = {1, 2, 3};
                        double scores[2];
                        transom_session_score(session, tokens, 3, scores,
                                              nullptr, 0);
                        transom_sequence_save(session, 0, calls.path);
                        pthread_testcancel();
                      }
                    },
                    &calls),
                0);
      while (calls.count < round)
        std::this_thread::yield();
      pthread_cancel(thread);
      void *result = nullptr;
      ASSERT_EQ(pthread_join(thread, &result), 0);
      EXPECT_EQ(result, PTHREAD_CANCELED);
    }
  expectUnchanged();
}
#endif

TEST_F(ApiCallbacks, a_pool_that_does_not_run_all_tasks_is_an_error) {
  struct Pool {
    int calls = 0, bad = -1;
    bool throws = false;
    static void run(void *context, size_t count, transom_task task, void *arg) {
      Pool &pool = *static_cast<Pool *>(context);
      const bool isBad = pool.calls++ == pool.bad;
      if (isBad && pool.throws)
        throw std::runtime_error("pool is closed");
      for (size_t i = isBad ? 1 : 0; i != count; ++i)
        task(arg, i);
    }
  } pool;
  transom_session_options settings = transom_session_options_default();
  settings.threads = 2;
  settings.max_sequences = 3;
  settings.max_kv_tokens = 2000;
  settings.parallel = Pool::run;
  settings.parallel_context = &pool;
  transom_session_free(session);
  ASSERT_EQ(transom_session_create(model, &settings, &session),
            TRANSOM_STATUS_OK);
  // All calls to the pool: steps, block copies, the beam search.
  options.num_beams = 3;
  ASSERT_EQ(generate(prompts), TRANSOM_STATUS_OK) << transom_last_error();
  expected = ids(1);
  const int all = pool.calls;
  ASSERT_GT(all, 4);
  for (bool throws : {false, true})
    for (int bad = 0; bad != all; ++bad) {
      pool = {0, bad, throws};
      EXPECT_EQ(generate(prompts), TRANSOM_STATUS_USAGE) << bad;
      EXPECT_NE(std::strstr(transom_last_error(),
                            throws ? "pool is closed" : "without task 0 of 2"),
                nullptr)
          << transom_last_error();
      EXPECT_EQ(generation, nullptr);
      EXPECT_EQ(freeSequences(), 3);
      pool = {};
      if (bad % 7 == 0)
        expectUnchanged();
    }
}
