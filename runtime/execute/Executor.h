// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks an entry's table of steps: every share of a step, then the next step,
// on the session's team, on the host's threads, or on the caller alone.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/execute/Team.h"
#include "runtime/include/transom/transom.h"
#include "runtime/onednn/OneDnn.h"
#include <atomic>

namespace transom {

/// Sets the floating-point mode of generated code (to nearest, denormals as
/// zero) and restores the thread's own at the end.
class FloatMode {
public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

private:
  uint64_t saved;
};

/// One walk. Lives on the caller's stack; allocates nothing.
class Walk {
public:
  const transom_frame *frame = nullptr;
  const transom_entry_code *entry = nullptr;
  const transom_phase *phases = nullptr;
  const int64_t *rows = nullptr; ///< the artifact's layer rows
  int64_t parts = 1;
  std::atomic<uint32_t> *cancel = nullptr;
  OneDnnSession *oneDnn = nullptr;       ///< does the calls, or NULL
  const OneDnnCall *calls = nullptr;     ///< of steps with a negative phase
  bool failed = false;                   ///< a call failed, and the walk ended
  int64_t *nanoseconds = nullptr;        ///< [steps], or NULL
  transom_worker_time *shares = nullptr; ///< [steps][parts], or NULL

  /// Each of these walks all steps; false when it was cancelled between two.
  bool onTeam(Team &team);
  bool onHost(transom_parallel parallel, void *context);
  bool alone();

private:
  void doShare(int64_t step, int64_t part);
  bool isCall(int64_t step) const { return entry->steps[step].phase < 0; }
  void doCall(const transom_code_step &what);
  void startClock();
  void finishStep(int64_t step);

  Team *crew = nullptr;
  int64_t current = 0; // the step that the host's threads are at
  int64_t last = 0;    // when the step before ended, in nanoseconds
  bool stopped = false;
};

} // namespace transom
