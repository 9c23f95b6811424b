// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits a session to one thread at a time. A second caller gets an error, and
// a session that is freed during a call lives until the call ends.
#pragma once
#include "runtime/base/Error.h"
#include <atomic>
#include <thread>

namespace transom::api {

class SessionLock {
public:
  /// Acquires the session for a call. `Usage` if a call is in progress, in
  /// another thread or in the one whose callback runs.
  Result<void> acquire();
  /// Ends the call. Returns true if the session was given up during the call;
  /// the caller must then free it.
  bool release();
  /// Gives the session up. Returns true if the caller must free it now, false
  /// if the call in progress will. `endCall` makes that call end soon.
  template <typename EndCall> bool giveUp(EndCall endCall) {
    while (!change(Idle, GivenUp)) {
      // The session certainly exists until the state changes.
      endCall();
      if (change(Busy, GivenUp))
        return false;
    }
    return true;
  }

private:
  enum State : uint32_t { Idle, Busy, GivenUp };
  bool change(State from, State to) {
    uint32_t expected = from;
    return state.compare_exchange_strong(
        expected, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  std::atomic<uint32_t> state{Idle};
  std::atomic<std::thread::id> owner; // while Busy
};

} // namespace transom::api
