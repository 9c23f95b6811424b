// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A team of threads that does one call at a time: one fork a call, and inside
// it a barrier after each step. Waiting spins for some thousand rounds and then
// sleeps, since spinning alone collapses when there are more threads than CPUs.
#pragma once
#include "runtime/support/Error.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace transom {

/// A counter that threads wait for to change.
class alignas(64) Event {
public:
  uint32_t now() const { return value.load(std::memory_order_acquire); }
  /// Counts on and wakes who sleeps.
  void advance();
  /// Returns once the counter is not `old`.
  void waitPast(uint32_t old, unsigned spins);

private:
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

/// The threads of one session, the caller's being number 0.
class Team {
public:
  /// Work of one fork; runs on every thread of the team with its number.
  using Body = void (*)(void *context, unsigned index);

  /// Starts `size` - 1 threads; `Unavailable` when the system refuses.
  static Result<std::unique_ptr<Team>> create(unsigned size);
  /// Ends and joins the threads.
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  unsigned size() const { return threads; }

  /// Runs `body` on all threads, the caller's too. The body's last act must be
  /// a barrier: that is what run waits for.
  void run(Body body, void *context);

  /// Waits until all threads of the team are here. The last to come calls
  /// `completion` before any goes on.
  template <typename Completion> void barrier(Completion &&completion) {
    uint32_t generation = passed.now();
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived.store(0, std::memory_order_relaxed);
      completion();
      passed.advance();
    } else {
      passed.waitPast(generation, spins);
    }
  }

private:
  explicit Team(unsigned size);
  void work(unsigned index);

  const unsigned threads;
  const unsigned spins;
  Event forked;
  Event passed;
  alignas(64) std::atomic<unsigned> arrived{0};
  Body body = nullptr;
  void *context = nullptr;
  bool ending = false;
  std::vector<std::thread> workers;
};

} // namespace transom
