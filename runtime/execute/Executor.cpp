// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether to go on after a step is decided once, by the last thread at the
// barrier, so that all threads leave together.
#include "runtime/execute/Executor.h"
#include <ctime>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace transom;

#if defined(__x86_64__)
/// All exceptions masked, to nearest, flush to zero (15), denormals are zero
/// (6).
constexpr unsigned generatedMode = 0x1f80 | 1u << 15 | 1u << 6;

FloatMode::FloatMode() : saved(_mm_getcsr()) { _mm_setcsr(generatedMode); }
FloatMode::~FloatMode() { _mm_setcsr(unsigned(saved)); }
#elif defined(__aarch64__)
FloatMode::FloatMode() {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
  uint64_t mode = uint64_t(1) << 24; // flush to zero, to nearest
  __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}
FloatMode::~FloatMode() { __asm__ volatile("msr fpcr, %0" ::"r"(saved)); }
#else
FloatMode::FloatMode() : saved(0) {}
FloatMode::~FloatMode() {}
#endif

static int64_t clockNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void Walk::doCall(const transom_code_step &what) {
  const int64_t *row = what.row < 0 ? nullptr : rows + what.row;
  failed = !oneDnn->run(calls[-1 - what.phase], *frame, row);
}

void Walk::doShare(int64_t step, int64_t part) {
  const transom_code_step &what = entry->steps[step];
  transom_worker_time *share = shares ? shares + step * parts + part : nullptr;
  if (share)
    share->begin = clockNow();
  if (what.phase >= 0)
    phases[what.phase](frame, what.row < 0 ? nullptr : rows + what.row, part,
                       parts);
  else if (part == 0) // the others wait at the step's end
    doCall(what);
  if (share)
    share->end = clockNow();
}

void Walk::startClock() {
  if (nanoseconds)
    last = clockNow();
}

void Walk::finishStep(int64_t step) {
  if (nanoseconds) {
    int64_t now = clockNow();
    nanoseconds[step] = now - last;
    last = now;
  }
  // After the last step the results are complete: too late to cancel.
  stopped = step + 1 != entry->num_dispatches &&
            (failed || cancel->load(std::memory_order_relaxed) != 0);
}

bool Walk::onTeam(Team &team) {
  if (entry->num_dispatches == 0)
    return true;
  crew = &team;
  startClock();
  team.run(
      [](void *context, unsigned index) {
        Walk &walk = *static_cast<Walk *>(context);
        FloatMode mode;
        // Behind the last barrier the caller may be gone, and with it the walk:
        // so a walk that stops early takes one more.
        Team &crew = *walk.crew;
        for (int64_t step = 0, end = walk.entry->num_dispatches; step != end;
             ++step) {
          walk.doShare(step, index);
          bool isLast = step + 1 == end;
          crew.barrier([&] { walk.finishStep(step); });
          if (isLast)
            return;
          if (walk.stopped)
            return crew.barrier([] {});
        }
      },
      this);
  return !stopped;
}

bool Walk::onHost(transom_parallel parallel, void *context) {
  startClock();
  for (current = 0; current != entry->num_dispatches && !stopped; ++current) {
    if (isCall(current)) { // not inside the host's threads: it has its own
      for (int64_t part = 0; part != parts; ++part)
        doShare(current, part);
      finishStep(current);
      continue;
    }
    parallel(
        context, size_t(parts),
        [](void *arg, size_t index) {
          FloatMode mode;
          Walk &walk = *static_cast<Walk *>(arg);
          walk.doShare(walk.current, int64_t(index));
        },
        this);
    finishStep(current);
  }
  return !stopped;
}

bool Walk::alone() {
  FloatMode mode;
  startClock();
  for (int64_t step = 0; step != entry->num_dispatches && !stopped; ++step) {
    for (int64_t part = 0; part != parts; ++part)
      doShare(step, part);
    finishStep(step);
  }
  return !stopped;
}
