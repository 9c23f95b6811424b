// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over indices whose bodies throw, and their floating-point mode;
// ExecutorTest.cpp tests the indices per worker.
#include "runtime/execute/Executor.h"
#include "test/support/fake/Fake.h"
#include <atomic>
#include <cfenv>
#include <new>

using namespace transom;
using namespace transom::test;

static void runInOrder(void *, size_t count, transom_task task, void *arg) {
  for (size_t i = 0; i != count; ++i)
    task(arg, i);
}

TEST(ExecutorLoop, an_exception_of_a_body_comes_out_of_the_loop) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 3u})
    for (transom_parallel parallel : {transom_parallel(nullptr), runInOrder}) {
      SessionConfig config = makeConfig(2, 64, threads);
      config.parallel = parallel;
      auto session = makeSession(*model, config);
      std::atomic<size_t> runs{0};
      for (size_t bad : {0, 5, 29}) {
        struct Context {
          std::atomic<size_t> *runs;
          size_t bad;
        } context{&runs, bad};
        EXPECT_THROW((void)session->executor().forEach(
                         30,
                         [](void *given, size_t index, unsigned) {
                           auto &context = *static_cast<Context *>(given);
                           if (index == context.bad)
                             throw std::bad_alloc();
                           ++*context.runs;
                         },
                         &context),
                     std::bad_alloc);
      }
      // The threads continue.
      EncodeCall call(2, 9);
      ASSERT_TRUE(bool(call.run(*session)));
      call.checkResults();
    }
}

TEST(ExecutorLoop, rounds_to_nearest_on_all_workers) {
  auto model = fakeModel();
  std::fesetround(FE_UPWARD);
  auto session = makeSession(*model, makeConfig(2, 64, 3));
  std::atomic<int> others{0};
  Result<void> done = session->executor().forEach(
      30,
      [](void *context, size_t, unsigned) {
        volatile float tiny = 1.17549435e-38f;
        if (std::fegetround() != FE_TONEAREST || tiny * 0.5f == 0)
          ++*static_cast<std::atomic<int> *>(context);
      },
      &others);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(bool(done));
  EXPECT_EQ(others, 0);
}

TEST(ExecutorLoop, a_pool_that_leaves_tasks_out_is_an_error) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 64, 3);
  config.parallel = [](void *, size_t count, transom_task task, void *arg) {
    runInOrder(nullptr, count - 1, task, arg);
  };
  auto session = makeSession(*model, config);
  Result<void> looped =
      session->executor().forEach(30, [](void *, size_t, unsigned) {}, nullptr);
  ASSERT_FALSE(looped);
  EXPECT_EQ(looped.error().status, Status::Usage);
  EncodeCall call(2, 9);
  Result<void> ran = call.run(*session);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, looped.error().message);
}
