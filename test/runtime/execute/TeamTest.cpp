// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread team: every thread does its part in every step, no thread is a
// step ahead, and nothing hangs when threads sleep or are too many.
#include "runtime/execute/Team.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace transom;

namespace {

/// Work in which each step reads data that all threads wrote in the previous
/// step.
struct Relay {
  Team *team;
  int steps;
  std::vector<int64_t> values[2]; // plain memory: the sanitizer watches it
  int64_t completions = 0;

  static void body(void *context, unsigned index) {
    Relay &relay = *static_cast<Relay *>(context);
    Team &team = *relay.team;
    for (int step = 0, steps = relay.steps; step != steps; ++step) {
      int64_t sum = 0;
      for (int64_t value : relay.values[step % 2])
        sum += value;
      relay.values[(step + 1) % 2][index] = sum + index;
      team.barrier([&] { ++relay.completions; });
    }
  }
};

std::vector<int64_t> relayAlone(unsigned threads, int steps) {
  std::vector<int64_t> values(threads, 1);
  for (int step = 0; step != steps; ++step) {
    uint64_t sum = 0;
    for (int64_t value : values)
      sum += uint64_t(value);
    for (unsigned i = 0; i != threads; ++i)
      values[i] = int64_t(sum + i);
  }
  return values;
}

} // namespace

TEST(Team, keeps_all_threads_in_step) {
  for (unsigned threads : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 16u}) {
    Result<std::unique_ptr<Team>> team = Team::create(threads);
    ASSERT_TRUE(bool(team));
    EXPECT_EQ((*team)->size(), threads);
    for (int call = 0; call != 20; ++call) {
      int steps = 1 + call % 7;
      Relay relay{team->get(), steps, {}};
      relay.values[0].assign(threads, 1);
      relay.values[1].assign(threads, 0);
      (*team)->run(Relay::body, &relay);
      EXPECT_EQ(relay.values[steps % 2], relayAlone(threads, steps));
      EXPECT_EQ(relay.completions, steps);
    }
  }
}

TEST(Team, wakes_threads_that_sleep) {
  Result<std::unique_ptr<Team>> team = Team::create(3);
  ASSERT_TRUE(bool(team));
  for (int call = 0; call != 5; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Relay relay{team->get(), 3, {}};
    relay.values[0].assign(3, 1);
    relay.values[1].assign(3, 0);
    (*team)->run(Relay::body, &relay);
    EXPECT_EQ(relay.values[1], relayAlone(3, 3));
  }
}

/// Waits for an event that another thread advances after a pause.
static void waitLong(Event &event) {
  uint32_t old = event.now();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    event.advance();
  });
  event.waitPast(old);
  other.join();
}

TEST(Event, spins_less_when_waiting_awake_was_in_vain) {
  Event event(false);
  EXPECT_EQ(event.spins(), Event::mostSpins);
  for (int i = 0; i != 10; ++i)
    waitLong(event);
  EXPECT_EQ(event.spins(), Event::leastSpins);
}

TEST(Event, spins_more_while_waits_end_awake) {
  Event event(true);
  EXPECT_EQ(event.spins(), Event::leastSpins);
  for (int i = 0; i != 200; ++i) {
    uint32_t old = event.now();
    event.advance();
    event.waitPast(old);
  }
  EXPECT_EQ(event.spins(), Event::mostSpins);
}

TEST(Team, ends_without_having_run) {
  for (unsigned threads : {1u, 2u, 5u})
    EXPECT_TRUE(bool(Team::create(threads)));
}

TEST(Team, two_teams_work_at_once) {
  auto work = [] {
    Result<std::unique_ptr<Team>> team = Team::create(2);
    ASSERT_TRUE(bool(team));
    for (int call = 0; call != 50; ++call) {
      Relay relay{team->get(), 4, {}};
      relay.values[0].assign(2, 1);
      relay.values[1].assign(2, 0);
      (*team)->run(Relay::body, &relay);
      EXPECT_EQ(relay.values[0], relayAlone(2, 4));
    }
  };
  std::thread other(work);
  work();
  other.join();
}
