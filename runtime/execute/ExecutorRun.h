// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an entry's dispatches sequentially. A dispatch runs one phase on all
// workers: on the session's team, on the host's threads, or on the calling
// thread alone. Workers wait for each other between two dispatches unless each
// reads only its own results.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/FloatMode.h"
#include "runtime/execute/HostPool.h"
#include "runtime/execute/Team.h"
#include "runtime/include/transom/transom.h"
#include "runtime/onednn/OneDnn.h"
#include <atomic>

namespace transom {

class ExecutorRun;

/// Observes the memory of a run between its dispatches, on the caller's thread
/// and in the caller's floating-point mode. It must not change anything that
/// the run reads.
class DispatchObserver {
public:
  virtual ~DispatchObserver() = default;
  virtual void willRun(const ExecutorRun &run, int64_t dispatch) = 0;
  virtual void didRun(const ExecutorRun &run, int64_t dispatch) = 0;
};

/// One run of an entry. Allocated on the caller's stack; allocates nothing.
class ExecutorRun {
public:
  const transom_frame *frame = nullptr;
  const transom_entry_code *entry = nullptr;
  const transom_phase *phases = nullptr;
  const int64_t *layers = nullptr; ///< layer rows in the artifact
  int64_t numWorkers = 1;
  std::atomic<uint32_t> *cancel = nullptr;
  OneDnnSession *oneDnn = nullptr;   ///< for library calls, or NULL
  const OneDnnCall *calls = nullptr; ///< for dispatches with a negative phase
  bool failed = false;            ///< a library call failed and ended the run
  int64_t *nanoseconds = nullptr; ///< [dispatches], or NULL
  transom_worker_time *workerTimes =
      nullptr; ///< [dispatches][workers], or NULL

  /// Each of these functions runs all dispatches. They return false if the run
  /// was cancelled between two dispatches, and return host pool errors.
  bool runOnTeam(Team &team);
  Result<bool> runOnHost(HostPool &pool);
  bool runOnCaller();
  /// On the calling thread, one worker after another.
  bool runObserved(DispatchObserver &observer);

private:
  void runWorker(int64_t index, int64_t worker);
  bool isLibraryCall(int64_t index) const {
    return entry->dispatches[index].phase < 0;
  }
  void runCall(const transom_dispatch &dispatch);
  const int64_t *getLayer(const transom_dispatch &dispatch) const {
    return dispatch.layer < 0 ? nullptr : layers + dispatch.layer;
  }
  /// True if there is no barrier between a dispatch and the next: each worker
  /// runs both consecutively. All workers decide the same.
  bool joinsNext(int64_t index) const;
  void startClock();
  void finishDispatch(int64_t index);

  Team *crew = nullptr;
  int64_t current = 0, end = 0; // dispatches for the host's threads
  int64_t last = 0;             // previous dispatch's end in nanoseconds
  bool stopped = false;
};

} // namespace transom
