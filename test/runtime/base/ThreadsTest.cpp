// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads and tasks, with stacks so large that the system refuses each thread.
#include "runtime/base/Threads.h"
#include <gtest/gtest.h>
#include <pthread.h>
#include <vector>

using namespace transom;

namespace {

/// Lets each new thread fail, or not.
class Threads : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &before);
    if (GetParam())
      setStack(size_t(1) << 46);
  }
  void TearDown() override { setStack(before); }
  static void setStack(size_t bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
  }
  size_t before = 0;
};

} // namespace

TEST_P(Threads, a_refused_thread_leaves_its_work) {
  int calls = 0;
  auto work = [&] { ++calls; };
  std::optional<std::thread> thread = startThread(work);
  EXPECT_EQ(bool(thread), !GetParam());
  if (thread)
    thread->join();
  else
    work();
  EXPECT_EQ(calls, 1);
}

TEST_P(Threads, a_task_keeps_its_data) {
  std::vector<int> data(1000, 7);
  auto task = startTask([data = std::move(data)] { return data.size(); });
  EXPECT_EQ(task.get(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithout, Threads, testing::Bool());
