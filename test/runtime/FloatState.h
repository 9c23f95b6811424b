// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An application's floating-point modes, and calls that are made in them.
#pragma once
#include "transom/transom.h"
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace transom::test {

/// The floating-point control and status registers.
struct FloatState {
  uint64_t control = 0, status = 0;
  bool operator==(const FloatState &other) const {
    return control == other.control && status == other.status;
  }
};

#if defined(__x86_64__)
inline FloatState getState() {
  uint16_t x87Control, x87Status;
  __asm__ volatile("fnstcw %0" : "=m"(x87Control));
  __asm__ volatile("fnstsw %0" : "=m"(x87Status));
  return {_mm_getcsr() | uint64_t(x87Control) << 32, x87Status};
}

inline void setState(const FloatState &state) {
  const uint16_t x87Control = uint16_t(state.control >> 32);
  __asm__ volatile("fnclex");
  __asm__ volatile("fldcw %0" : : "m"(x87Control));
  _mm_setcsr(unsigned(state.control));
}

/// Host modes: each rounding mode with three settings for the rest. The inexact
/// flag is set in each and must stay the only one.
inline std::vector<FloatState> makeStates() {
  constexpr uint64_t inexact = 0x20, masks = 0x1f80, traps = 0x0e80;
  constexpr uint64_t areZero = 0x8040, x87Masks = 0x7f;
  struct Setting {
    uint64_t sse, precision;
  };
  constexpr Setting settings[] = {
      {masks, 3}, {masks | areZero, 0}, {(masks & ~traps) | areZero, 2}};
  std::vector<FloatState> states;
  for (uint64_t rounding = 0; rounding != 4; ++rounding)
    for (const Setting &each : settings)
      states.push_back(
          {(inexact | each.sse | rounding << 13) |
               (x87Masks | each.precision << 8 | rounding << 10) << 32,
           0});
  return states;
}
#elif defined(__aarch64__)
inline FloatState getState() {
  FloatState state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state.control));
  __asm__ volatile("mrs %0, fpsr" : "=r"(state.status));
  return state;
}

inline void setState(const FloatState &state) {
  __asm__ volatile("msr fpcr, %0" ::"r"(state.control));
  __asm__ volatile("msr fpsr, %0" ::"r"(state.status));
}

inline std::vector<FloatState> makeStates() {
  std::vector<FloatState> states;
  for (uint64_t rounding = 0; rounding != 4; ++rounding)
    for (uint64_t zero = 0; zero != 2; ++zero)
      states.push_back({rounding << 22 | zero << 24, 0x10});
  return states;
}
#endif

inline std::string getText(const FloatState &state) {
  char text[80];
  std::snprintf(text, sizeof text, "%#llx with flags %#llx",
                static_cast<unsigned long long>(state.control),
                static_cast<unsigned long long>(state.status));
  return text;
}

/// The mode in which calls are made, and the number of callbacks that saw it.
inline FloatState hostState;
inline size_t callbacks = 0;

[[noreturn]] inline void fail(const std::string &text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

inline void checkCallback(const char *what) {
  const FloatState seen = getState();
  ++callbacks;
  if (seen == hostState)
    return;
  setState({});
  fail(std::string(what) + " does not run in the mode of the host");
}

/// Makes one call in the host's mode, and checks the mode after it.
inline transom_status inMode(const char *name,
                             const std::function<transom_status()> &call) {
  const FloatState own = getState();
  setState(hostState);
  const transom_status status = call();
  const FloatState after = getState();
  setState(own);
  if (!(after == hostState))
    fail(std::string(name) + " changes the floating-point mode of its host: " +
         getText(hostState) + " before, " + getText(after) + " after");
  return status;
}

} // namespace transom::test
