// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread team that runs one call at a time: one fork per call, and in it a
// barrier after each dispatch. A wait spins and then sleeps. The spin count
// adapts to how waits end: large while the other threads run, small while they
// wait for a CPU, which spinning would occupy.
#pragma once
#include "runtime/base/Error.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace transom {

/// A counter; threads wait until it changes.
class alignas(64) Event {
public:
  /// `crowded`: there are more threads than CPUs, so start at the minimum spin
  /// count.
  explicit Event(bool crowded) : patience(crowded ? leastSpins : mostSpins) {}

  uint32_t now() const { return value.load(std::memory_order_acquire); }
  /// Increments the counter and wakes the threads that sleep.
  void advance();
  /// Returns once the counter is not `old`.
  void waitPast(uint32_t old);
  /// Number of spins before the next wait sleeps.
  unsigned spins() const { return patience.load(std::memory_order_relaxed); }

  /// Bounds for spins(): about a microsecond, and long enough that threads spin
  /// from one dispatch to the next in a small model.
  static constexpr unsigned leastSpins = 50, mostSpins = 4000;

private:
  bool spinPast(uint32_t old);
  void sleepPast(uint32_t old);

  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<unsigned> patience;
  std::atomic<int> lastCpu{-1}; // CPU where the counter was advanced
};

/// The threads of one session; the caller's thread is number 0.
class Team {
public:
  /// The work in a fork; runs on every thread in the team with its number.
  using Body = void (*)(void *context, unsigned index);

  /// Starts `size` - 1 threads. If the system refuses some, the team is smaller
  /// with `orFewer`; otherwise the error is `Unavailable`.
  static Result<std::unique_ptr<Team>> create(unsigned size,
                                              bool orFewer = false);
  /// Ends and joins the threads.
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  unsigned size() const { return threads; }

  /// Runs `body` on all threads, including the caller's. The body must end with
  /// a barrier, which run waits for.
  void run(Body body, void *context);

  /// Waits until all threads in the team have arrived. The last one calls
  /// `completion` before any continues.
  template <typename Completion> void barrier(Completion &&completion) {
    uint32_t generation = passed.now();
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived.store(0, std::memory_order_relaxed);
      completion();
      passed.advance();
    } else {
      passed.waitPast(generation);
    }
  }

private:
  Team(unsigned size, bool crowded)
      : threads(size), forked(crowded), passed(crowded) {}
  void work(unsigned index);

  unsigned threads; ///< constant once the team is created
  Event forked;
  Event passed;
  alignas(64) std::atomic<unsigned> arrived{0};
  Body body = nullptr;
  void *context = nullptr;
  bool ending = false;
  std::vector<std::thread> workers;
};

} // namespace transom
