// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last thread at a barrier decides whether the run continues, so all
// threads leave together.
#include "runtime/execute/ExecutorRun.h"
#include <ctime>

using namespace transom;

namespace {
/// A mark that debuggers find on a worker's stack, above a phase's frame:
/// tools/gdb/transom-gdb.py. Generated code has no such record.
struct DispatchMark {
  char mark[16];                   ///< `transom.dispatch`, without a zero
  const transom_entry_code *entry; ///< code of the run's entry
  int64_t dispatch;                ///< index in the entry
  int64_t worker, numWorkers;
};
} // namespace

static int64_t clockNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void ExecutorRun::runCall(const transom_dispatch &dispatch) {
  failed = !oneDnn->run(calls[-1 - dispatch.phase], *frame, getLayer(dispatch));
}

void ExecutorRun::runWorker(int64_t index, int64_t worker) {
  const transom_dispatch &dispatch = entry->dispatches[index];
  transom_worker_time *time =
      workerTimes ? workerTimes + index * numWorkers + worker : nullptr;
  if (time)
    time->begin = clockNow();
  const DispatchMark mark = {{'t', 'r', 'a', 'n', 's', 'o', 'm', '.', 'd', 'i',
                              's', 'p', 'a', 't', 'c', 'h'},
                             entry,
                             index,
                             worker,
                             numWorkers};
  __asm__ volatile("" : : "r"(&mark) : "memory"); // keep it in memory
  // A library call runs on worker 0; the others wait at the barrier.
  if (dispatch.phase >= 0)
    phases[dispatch.phase](frame, getLayer(dispatch), worker, numWorkers);
  else if (worker == 0)
    runCall(dispatch);
  if (time)
    time->end = clockNow();
}

bool ExecutorRun::joinsNext(int64_t index) const {
  // A profile needs each dispatch's own time.
  if (index + 1 == entry->num_dispatches || nanoseconds || workerTimes)
    return false;
  const transom_dispatch &next = entry->dispatches[index + 1];
  if (next.head_ranges == 0 || next.head_ranges % numWorkers != 0)
    return false;
  const transom_ragged_batch &ragged = frame->ragged_batches[next.ragged_batch];
  return ragged.num_sequences == 1 && !ownsRows(ragged.num_tokens, numWorkers);
}

void ExecutorRun::startClock() {
  if (nanoseconds)
    last = clockNow();
}

void ExecutorRun::finishDispatch(int64_t index) {
  if (nanoseconds) {
    int64_t now = clockNow();
    nanoseconds[index] = now - last;
    last = now;
  }
  // After the last dispatch the results are complete: too late to cancel.
  stopped = index + 1 != entry->num_dispatches &&
            (failed || cancel->load(std::memory_order_relaxed) != 0);
}

bool ExecutorRun::runOnTeam(Team &team) {
  if (entry->num_dispatches == 0)
    return true;
  crew = &team;
  startClock();
  team.run(
      [](void *context, unsigned worker) {
        ExecutorRun &run = *static_cast<ExecutorRun *>(context);
        FloatMode mode;
        // After the last barrier the caller may have returned and `run` may no
        // longer exist. So it is not read after the last dispatch, and a run
        // that stops early passes one more barrier.
        Team &crew = *run.crew;
        for (int64_t index = 0, end = run.entry->num_dispatches; index != end;
             ++index) {
          run.runWorker(index, worker);
          if (run.joinsNext(index))
            continue;
          bool isLast = index + 1 == end;
          crew.barrier([&] { run.finishDispatch(index); });
          if (isLast)
            return;
          if (run.stopped)
            return crew.barrier([] {});
        }
      },
      this);
  return !stopped;
}

Result<bool> ExecutorRun::runOnHost(HostPool &pool) {
  startClock();
  for (current = 0; current != entry->num_dispatches && !stopped;
       current = end) {
    end = current + 1;
    // A library has its own threads, so its calls do not run on host threads.
    if (isLibraryCall(current)) {
      for (int64_t worker = 0; worker != numWorkers; ++worker)
        runWorker(current, worker);
      finishDispatch(current);
      continue;
    }
    while (joinsNext(end - 1))
      ++end;
    TRANSOM_TRY(pool.run(
        size_t(numWorkers),
        [](void *arg, size_t worker) {
          FloatMode mode;
          ExecutorRun &run = *static_cast<ExecutorRun *>(arg);
          for (int64_t index = run.current; index != run.end; ++index)
            run.runWorker(index, int64_t(worker));
        },
        this));
    finishDispatch(end - 1);
  }
  return !stopped;
}

bool ExecutorRun::runOnCaller() {
  FloatMode mode;
  startClock();
  for (int64_t index = 0; index != entry->num_dispatches && !stopped; ++index) {
    for (int64_t worker = 0; worker != numWorkers; ++worker)
      runWorker(index, worker);
    finishDispatch(index);
  }
  return !stopped;
}

bool ExecutorRun::runObserved(DispatchObserver &observer) {
  startClock();
  for (int64_t index = 0; index != entry->num_dispatches && !stopped; ++index) {
    observer.willRun(*this, index);
    for (int64_t worker = 0; worker != numWorkers; ++worker) {
      FloatMode mode;
      runWorker(index, worker);
    }
    finishDispatch(index);
    observer.didRun(*this, index);
  }
  return !stopped;
}
