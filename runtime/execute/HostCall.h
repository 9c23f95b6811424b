// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary between a host and the library. A C API call computes in a
// single floating-point mode and is not cancelled in the middle; a host
// callback within the call sees the host's own settings.
#pragma once
#include "runtime/base/FloatMode.h"
#include <exception>
#include <string>
#include <utility>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace transom {

/// An exception left a host function. HostCall's owner turns it into a status;
/// nothing else catches it.
class HostError : public std::exception {
public:
  /// `thrown` is the exception's message, or NULL.
  explicit HostError(const char *thrown) noexcept;
  const char *what() const noexcept override { return message; }

private:
  char message[256];
};

/// One C API call on this thread. Rounds to nearest, preserves denormals and
/// defers pthread_cancel() until its end. Calls may be nested, since a callback
/// may use another session.
class HostCall {
public:
  HostCall();
  /// Acts on a pthread_cancel() that came meanwhile if the thread has the
  /// asynchronous cancel type, and then throws the unwinding of the thread.
  ~HostCall() noexcept(false);
  HostCall(const HostCall &) = delete;
  HostCall &operator=(const HostCall &) = delete;

private:
  friend class HostCallback;
  FloatMode mode{Denormals::AreKept};
  HostCall *outer; // the enclosing call, or NULL
  int cancelState; // the host's
};

/// The scope in which a call runs a host function: the host's floating-point
/// mode, and its cancel state where cancelling unwinds the stack. Has no effect
/// on a thread without a call.
class HostCallback {
public:
  HostCallback();
  ~HostCallback();
  HostCallback(const HostCallback &) = delete;
  HostCallback &operator=(const HostCallback &) = delete;

private:
  HostCall *call;
};

/// Runs a host function and returns its result. An exception becomes a
/// HostError, except for the unwinding of a cancelled or ending thread.
template <typename Function> auto callHost(Function &&function) {
  const HostCallback scope;
  try {
    return std::forward<Function>(function)();
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind &) {
    throw;
#endif
  } catch (const std::exception &thrown) {
    throw HostError(thrown.what());
  } catch (...) {
    throw HostError(nullptr);
  }
}

} // namespace transom
