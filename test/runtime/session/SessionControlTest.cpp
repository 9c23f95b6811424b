// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is done to a call from outside: cancelling it, between steps and from
// another thread, and taking the time of its steps and shares.
#include "test/support/fake/Fake.h"
#include <atomic>
#include <thread>

using namespace transom;
using namespace transom::test;

TEST(SessionControl, cancel_ends_a_call_between_steps) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 3u}) {
    // A host that cancels in the second step stands for another thread.
    struct Host {
      Session *session = nullptr;
      int forks = 0;
    } host;
    SessionConfig config = makeConfig(2, 40, threads);
    config.parallelContext = &host;
    config.parallel = [](void *context, size_t count, transom_task task,
                         void *arg) {
      Host &host = *static_cast<Host *>(context);
      if (++host.forks == 2)
        host.session->cancel();
      for (size_t i = 0; i != count; ++i)
        task(arg, i);
    };
    auto session = makeSession(*model, config);
    host.session = session.get();
    EncodeCall call(2, 5);
    Result<void> cancelled = call.run(*session);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().status, cancelledStatus);
    EXPECT_EQ(host.forks, 2);
    ASSERT_TRUE(bool(call.run(*session))) << "the flag is used up";
    call.checkResults();
  }
}

TEST(SessionControl, cancel_from_another_thread) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(8, 512, 3));
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      session->cancel();
      std::this_thread::yield();
    }
  });
  int ended = 0;
  EncodeCall call(8, 64);
  // On a busy machine the other thread may come late.
  for (int i = 0; i < 200 || (ended == 0 && i < 1000000); ++i) {
    Result<void> done = call.run(*session);
    if (!done) {
      EXPECT_EQ(done.error().status, cancelledStatus);
      ++ended;
    }
  }
  stop = true;
  other.join();
  EXPECT_GT(ended, 0);
  while (!call.run(*session))
    ;
  call.checkResults();
}

TEST(SessionControl, profile_has_a_time_for_each_step) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 40, 2);
  config.profile = true;
  auto session = makeSession(*model, config);
  EncodeCall call(2, 5);
  ASSERT_TRUE(bool(call.run(*session)));
  size_t steps = 0;
  const int64_t *times = session->executor().profile(steps);
  ASSERT_EQ(steps, 5u);
  for (size_t i = 0; i != steps; ++i)
    EXPECT_GE(times[i], 0);
}

TEST(SessionControl, trace_has_a_begin_and_an_end_for_each_share) {
  auto model = fakeModel();
  SessionConfig config = makeConfig(2, 40, 3);
  size_t steps = 0;
  EXPECT_EQ(makeSession(*model, config)->executor().workerTimes(steps),
            nullptr);
  config.profile = config.trace = true;
  auto session = makeSession(*model, config);
  EncodeCall call(2, 5);
  ASSERT_TRUE(bool(call.run(*session)));
  const transom_worker_time *shares = session->executor().workerTimes(steps);
  ASSERT_EQ(steps, 5u);
  for (size_t step = 0; step != steps; ++step)
    for (size_t worker = 0; worker != 3; ++worker) {
      const transom_worker_time &share = shares[step * 3 + worker];
      EXPECT_GT(share.begin, 0);
      EXPECT_GE(share.end, share.begin);
      // A step begins when all shares of the step before have ended.
      for (size_t other = 0; step != 0 && other != 3; ++other)
        EXPECT_GE(share.begin, shares[(step - 1) * 3 + other].end);
    }
}
