// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Correct thread pools, and faulty ones.
#include "runtime/execute/HostPool.h"
#include "runtime/execute/HostCall.h"
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

using namespace transom;

namespace {

using Behavior = std::function<void(size_t count, transom_task, void *arg)>;

void runBehavior(void *context, size_t count, transom_task task, void *arg) {
  (*static_cast<Behavior *>(context))(count, task, arg);
}

struct Counts {
  std::atomic<int> runs[8] = {};
  static void count(void *arg, size_t index) {
    ++static_cast<Counts *>(arg)->runs[index];
  }
};

/// Runs four tasks; each runs at most once.
Result<void> runFour(HostPool &pool, Counts &counts) {
  Result<void> done = pool.run(4, Counts::count, &counts);
  for (int i = 0; i != 8; ++i) {
    EXPECT_LE(counts.runs[i], i < 4);
    if (done) {
      EXPECT_EQ(counts.runs[i], i < 4);
    }
    counts.runs[i] = 0;
  }
  return done;
}

void expectUsage(const Result<void> &done, const char *says) {
  ASSERT_FALSE(done) << says;
  EXPECT_EQ(done.error().status, Status::Usage);
  EXPECT_NE(done.error().message.find(says), std::string::npos)
      << done.error().message;
}

} // namespace

TEST(HostPool, runs_each_task_once) {
  Behavior behavior = [](size_t count, transom_task task, void *arg) {
    std::thread other([&] { task(arg, 0); });
    for (size_t i = 1; i != count; ++i)
      task(arg, i);
    other.join();
  };
  HostPool pool(runBehavior, &behavior, 8);
  Counts counts;
  for (int round = 0; round != 100; ++round)
    ASSERT_TRUE(bool(runFour(pool, counts)));
}

TEST(HostPool, finds_tasks_that_are_left_out_or_repeated) {
  Behavior behavior;
  HostPool pool(runBehavior, &behavior, 8);
  Counts counts;
  behavior = [](size_t, transom_task, void *) {};
  expectUsage(runFour(pool, counts), "without task 0 of 4");
  behavior = [](size_t, transom_task task, void *arg) {
    for (size_t i : {0, 1, 3})
      task(arg, i);
  };
  expectUsage(runFour(pool, counts), "without task 2 of 4");
  behavior = [](size_t count, transom_task task, void *arg) {
    for (size_t i = 0; i != count; ++i)
      task(arg, 1);
  };
  expectUsage(runFour(pool, counts), "without task 0 of 4");
  for (size_t more : {size_t(2), size_t(4), size_t(8), SIZE_MAX}) {
    behavior = [&](size_t count, transom_task task, void *arg) {
      for (size_t i = 0; i != count; ++i)
        task(arg, i);
      task(arg, more);
    };
    expectUsage(runFour(pool, counts), "a second time");
  }
}

TEST(HostPool, waits_for_tasks_that_the_pool_does_not_wait_for) {
  std::vector<std::thread> threads;
  std::atomic<bool> hasBegun{false};
  // A pool that returns after one task has begun, not ended.
  Behavior behavior = [&](size_t count, transom_task task, void *arg) {
    for (size_t i = 1; i != count; ++i)
      task(arg, i);
    threads.emplace_back([=] { task(arg, 0); });
    while (!hasBegun)
      std::this_thread::yield();
  };
  HostPool pool(runBehavior, &behavior, 8);
  // The first task is slow.
  struct Slow {
    std::atomic<bool> *hasBegun;
    std::atomic<int> ended{0};
  } slow{&hasBegun};
  Result<void> done = pool.run(
      4,
      [](void *arg, size_t index) {
        auto &slow = *static_cast<Slow *>(arg);
        if (index == 0) {
          *slow.hasBegun = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        ++slow.ended;
      },
      &slow);
  EXPECT_EQ(slow.ended, 4);
  expectUsage(done, "before all 4 tasks had ended");
  for (std::thread &thread : threads)
    thread.join();
}

TEST(HostPool, ignores_tasks_that_begin_after_the_end) {
  transom_task late = nullptr;
  void *lateArg = nullptr;
  Behavior behavior = [&](size_t count, transom_task task, void *arg) {
    late = task;
    lateArg = arg;
    for (size_t i = 0; i + 1 != count; ++i)
      task(arg, i);
  };
  HostPool pool(runBehavior, &behavior, 8);
  auto counts = std::make_unique<Counts>();
  expectUsage(runFour(pool, *counts), "without task 3 of 4");
  counts.reset(); // data that the tasks use is gone
  late(lateArg, 3);
  late(lateArg, 0);
}

TEST(HostPool, an_exception_comes_out_after_the_tasks) {
  Behavior behavior = [](size_t, transom_task task, void *arg) {
    task(arg, 0);
    throw std::runtime_error("pool is closed");
  };
  HostPool pool(runBehavior, &behavior, 8);
  Counts counts;
  try {
    (void)runFour(pool, counts);
    ADD_FAILURE() << "no exception";
  } catch (const HostError &error) {
    EXPECT_STREQ(error.what(), "the host's callback threw: pool is closed");
  }
  EXPECT_EQ(counts.runs[0], 1);
}
