// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread stores its innermost call, so that a callback finds the host's
// settings wherever it runs.
#include "runtime/execute/HostCall.h"
#include <cstdio>
#include <pthread.h>

using namespace transom;

static thread_local HostCall *innermost = nullptr;

/// Whether the C library unwinds the stack of a cancelled thread. Elsewhere a
/// call would not release its locks and sequences, so callbacks are not
/// cancelled either.
#if defined(__GLIBC__)
static constexpr bool unwindsOnCancel = true;
#else
static constexpr bool unwindsOnCancel = false;
#endif

HostError::HostError(const char *thrown) noexcept {
  if (thrown)
    std::snprintf(message, sizeof message, "the host's callback threw: %s",
                  thrown);
  else
    std::snprintf(message, sizeof message,
                  "the host's callback threw an exception");
  // A message is one line.
  for (char &letter : message)
    if (letter == '\n' || letter == '\r')
      letter = ' ';
}

HostCall::HostCall() : outer(innermost) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelState);
  innermost = this;
}

HostCall::~HostCall() noexcept(false) {
  innermost = outer;
  mode.leave();
  int ignored;
  pthread_setcancelstate(cancelState, &ignored);
}

HostCallback::HostCallback() : call(innermost) {
  if (!call)
    return;
  call->mode.leave();
  int ignored;
  if (unwindsOnCancel)
    pthread_setcancelstate(call->cancelState, &ignored);
}

HostCallback::~HostCallback() {
  if (!call)
    return;
  if (unwindsOnCancel)
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call->cancelState);
  call->mode.enter();
}
