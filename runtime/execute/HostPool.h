// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host's thread pool, which is not trusted to run each task once.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/include/transom/session.h"
#include <atomic>
#include <vector>

namespace transom {

/// Runs tasks through a host's `transom_parallel`. If the pool runs a task
/// twice, too late or with a wrong index, the task does nothing, so that no
/// task touches a call's memory after the call. Allocates nothing after its
/// creation, except for errors.
class HostPool {
public:
  /// For at most `size` simultaneous tasks.
  HostPool(transom_parallel parallel, void *context, size_t size)
      : parallel(parallel), context(context), slots(size) {}

  /// Runs task(arg, i) once for each i below `count`, and waits until all have
  /// ended. `Usage` if the pool has skipped a task, has run one a second time,
  /// or has returned before a task ended. Throws HostError.
  Result<void> run(size_t count, transom_task task, void *arg);

private:
  enum State : uint32_t { Closed, Ready, Running, Done };
  /// Each task has a cache line of its own.
  struct alignas(64) Slot {
    std::atomic<uint32_t> state{Closed};
  };
  static void runTask(void *pool, size_t index);
  size_t close(size_t count);

  const transom_parallel parallel;
  void *const context;
  std::vector<Slot> slots;
  transom_task task = nullptr; // in the current run
  void *arg = nullptr;
  std::atomic<bool> runsTwice{false}; // or a task that does not exist
  bool isEarly = false; // the pool returned while a task was running
};

} // namespace transom
