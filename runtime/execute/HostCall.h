// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The border between a host and the library. A call of the C API computes in
// one floating-point mode and is not cancelled in the middle; a function of the
// host that the call runs in turn sees the host's own settings.
#pragma once
#include "runtime/base/FloatMode.h"
#include <exception>
#include <string>
#include <utility>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace transom {

/// An exception left a function of the host. HostCall's owner turns it into a
/// status; nothing else catches it.
class HostError : public std::exception {
public:
  /// `thrown` is what the exception says, or NULL.
  explicit HostError(const char *thrown) noexcept;
  const char *what() const noexcept override { return message; }

private:
  char message[256];
};

/// One call of the C API on this thread. Rounds to nearest, keeps denormals and
/// holds a pthread_cancel() back until its end. Calls may be nested, since a
/// callback may use another session.
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
  HostCall *outer; // the call around this one, or NULL
  int cancelState; // of the host
};

/// The scope in which a call runs a function of the host: the host's
/// floating-point mode, and its cancel state where cancelling unwinds the
/// stack. Nothing changes on a thread without a call.
class HostCallback {
public:
  HostCallback();
  ~HostCallback();
  HostCallback(const HostCallback &) = delete;
  HostCallback &operator=(const HostCallback &) = delete;

private:
  HostCall *call;
};

/// Runs a function of the host, and returns its result. An exception becomes a
/// HostError, except for the unwinding of a thread that is cancelled or ends.
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
