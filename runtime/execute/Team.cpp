// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sleeper announces itself before it reads the counter for the last time, and
// the thread that advances the counter checks for sleepers afterwards: one of
// the two sees the other. The kernel compares the counter once more when the
// thread goes to sleep.
#include "runtime/execute/Team.h"
#include "runtime/base/Threads.h"
#include "runtime/execute/Cpu.h"
#include <algorithm>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace transom;

static void spinOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value,
          nullptr, nullptr, 0);
}

void Event::advance() {
  lastCpu.store(sched_getcpu(), std::memory_order_relaxed);
  value.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0)
    futex(value, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/// Each wait that ends while spinning raises the spin count slightly. At the
/// maximum nothing is written, so that the cache line stays shared.
bool Event::spinPast(uint32_t old) {
  unsigned most = spins();
  for (unsigned i = 0; i != most; ++i) {
    if (now() != old) {
      if (most < mostSpins)
        patience.store(std::min(most + most / 16 + 1, mostSpins),
                       std::memory_order_relaxed);
      return true;
    }
    spinOnce();
  }
  return false;
}

/// Sleeps, and adapts the spin count to the way the sleep ended. After a short
/// sleep the next wait spins longer. It spins less after a long sleep, which
/// means that the other threads wait for a CPU, and if the thread that ended
/// the sleep ran on this CPU, which was only possible because this thread
/// slept.
void Event::sleepPast(uint32_t old) {
  constexpr std::chrono::microseconds longSleep(200);
  int cpu = sched_getcpu();
  auto start = std::chrono::steady_clock::now();
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (value.load(std::memory_order_seq_cst) == old)
    futex(value, FUTEX_WAIT_PRIVATE, old);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
  bool useless = lastCpu.load(std::memory_order_relaxed) == cpu ||
                 std::chrono::steady_clock::now() - start > longSleep;
  patience.store(useless ? std::max(spins() / 2, leastSpins)
                         : std::min(spins() * 2, mostSpins),
                 std::memory_order_relaxed);
}

void Event::waitPast(uint32_t old) {
  if (!spinPast(old))
    sleepPast(old);
}

Result<std::unique_ptr<Team>> Team::create(unsigned size, bool orFewer) {
  std::unique_ptr<Team> team(new Team(size, size > usableCpus()));
  team->workers.reserve(size - 1);
  for (unsigned i = 1; i < size; ++i) {
    std::optional<std::thread> worker =
        startThread([raw = team.get(), i] { raw->work(i); });
    if (!worker)
      break;
    team->workers.push_back(std::move(*worker));
  }
  const size_t started = team->workers.size();
  if (started + 1 < size && !orFewer)
    return unavailable("cannot start " + std::to_string(size - 1) +
                       " threads, only " + std::to_string(started));
  // The threads read this when they run.
  team->threads = static_cast<unsigned>(started) + 1;
  return team;
}

Team::~Team() {
  ending = true;
  forked.advance();
  for (std::thread &worker : workers)
    worker.join();
}

void Team::work(unsigned index) {
  for (uint32_t seen = 0;; ++seen) {
    forked.waitPast(seen);
    if (ending)
      return;
    body(context, index);
  }
}

void Team::run(Body newBody, void *newContext) {
  body = newBody;
  context = newContext;
  if (threads > 1)
    forked.advance();
  newBody(newContext, 0);
}
