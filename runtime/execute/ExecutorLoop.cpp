// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over indices on all workers.
#include "runtime/base/FloatMode.h"
#include "runtime/execute/Executor.h"
#include <exception>

using namespace transom;

namespace {
/// A forEach() call. The first exception thrown by a body, such as for lack of
/// memory, ends the loops on all workers and is passed to the caller.
struct IndexLoop {
  size_t count;
  Executor::Body body;
  void *context;
  size_t numWorkers;
  Team *team;
  std::atomic<bool> hasThrown{false};
  std::exception_ptr thrown = nullptr;

  void run(size_t worker) {
    const FloatMode mode(Denormals::AreKept);
    try {
      for (size_t index = worker; index < count && !hasThrown;
           index += numWorkers)
        body(context, index, unsigned(worker));
    } catch (...) {
      if (!hasThrown.exchange(true))
        thrown = std::current_exception();
    }
  }
  void finish() const {
    if (thrown)
      std::rethrow_exception(thrown);
  }
};
} // namespace

Result<void> Executor::forEach(size_t count, Body body, void *context) {
  IndexLoop loop{count, body, context, settings.threads, team.get()};
  if (pool && count > 1) {
    TRANSOM_TRY(pool->run(
        loop.numWorkers,
        [](void *arg, size_t worker) {
          static_cast<IndexLoop *>(arg)->run(worker);
        },
        &loop));
    loop.finish();
    return {};
  }
  // In a child process after fork() there are no threads.
  if (team && count > 1 && getpid() == owner) {
    team->run(
        [](void *arg, unsigned worker) {
          // After the barrier the caller's loop may no longer exist.
          IndexLoop &loop = *static_cast<IndexLoop *>(arg);
          Team &crew = *loop.team;
          loop.run(worker);
          crew.barrier([] {});
        },
        &loop);
    loop.finish();
    return {};
  }
  loop.numWorkers = 1;
  loop.run(0);
  loop.finish();
  return {};
}
