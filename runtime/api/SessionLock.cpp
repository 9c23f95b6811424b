// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Never blocks; the state is one atomic word.
#include "runtime/api/SessionLock.h"

using namespace transom;
using namespace transom::api;

Result<void> SessionLock::acquire() {
  const std::thread::id me = std::this_thread::get_id();
  if (change(Idle, Busy)) {
    owner.store(me, std::memory_order_relaxed);
    return {};
  }
  // Only this thread stores its own id, so the comparison needs no lock.
  if (owner.load(std::memory_order_relaxed) == me)
    return usageError("the session is in use by the call whose callback this "
                      "is; a callback may call transom_session_cancel() and no "
                      "other function on its session");
  return usageError("the session is in use by another thread; one thread may "
                    "use a session at a time");
}

bool SessionLock::release() {
  owner.store(std::thread::id(), std::memory_order_relaxed);
  return !change(Busy, Idle);
}
