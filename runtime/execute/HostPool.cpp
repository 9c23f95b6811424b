// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each task has a state: ready, running, done. When the pool returns, tasks
// that have not begun are closed, and running tasks are waited for.
#include "runtime/execute/HostPool.h"
#include "runtime/base/Finally.h"
#include "runtime/execute/HostCall.h"
#include <sched.h>

using namespace transom;

void HostPool::runTask(void *given, size_t index) {
  HostPool &pool = *static_cast<HostPool *>(given);
  uint32_t ready = Ready;
  if (index >= pool.slots.size() ||
      !pool.slots[index].state.compare_exchange_strong(
          ready, Running, std::memory_order_acquire)) {
    pool.runsTwice.store(true, std::memory_order_relaxed);
    return;
  }
  pool.task(pool.arg, index);
  pool.slots[index].state.store(Done, std::memory_order_release);
}

/// Ends a run: none of its tasks begins any more, and none is running. Returns
/// the first task that has not begun, or `count`.
size_t HostPool::close(size_t count) {
  size_t missing = count;
  isEarly = false;
  for (size_t i = count; i-- != 0;) {
    std::atomic<uint32_t> &state = slots[i].state;
    uint32_t seen = state.load(std::memory_order_acquire);
    if (seen == Ready && state.compare_exchange_strong(seen, Closed))
      missing = i;
    else
      for (; seen != Done; seen = state.load(std::memory_order_acquire)) {
        isEarly = true;
        sched_yield();
      }
  }
  return missing;
}

Result<void> HostPool::run(size_t count, transom_task newTask, void *newArg) {
  task = newTask;
  arg = newArg;
  runsTwice.store(false, std::memory_order_relaxed);
  for (size_t i = 0; i != count; ++i)
    slots[i].state.store(Ready, std::memory_order_release);

  // All tasks end even if the pool throws.
  size_t missing = count;
  {
    const Finally end([&] { missing = close(count); });
    callHost([&] { parallel(context, count, runTask, this); });
  }
  if (missing != count)
    return usageError("the host's 'parallel' returned without task " +
                      std::to_string(missing) + " of " + std::to_string(count) +
                      "; it runs each task once");
  if (isEarly)
    return usageError("the host's 'parallel' returned before all " +
                      std::to_string(count) + " tasks had ended");
  if (runsTwice.load(std::memory_order_relaxed))
    return usageError("the host's 'parallel' ran a task a second time, or one "
                      "that is not among the " +
                      std::to_string(count) + "; it runs each task once");
  return {};
}
