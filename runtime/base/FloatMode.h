// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The project's floating-point mode, independent of the mode that a host has
// set.
#pragma once
#include <cstdint>

namespace transom {

/// How operations treat denormals.
enum class Denormals { AreZero, AreKept };

/// Sets the floating-point mode for generated code (to nearest, denormals as
/// zero), or the same with denormals, and restores the thread's own mode and
/// exception flags at the end. On x86-64 this includes the x87 unit, whose
/// rounding mode the C library uses to print numbers.
class FloatMode {
public:
  explicit FloatMode(Denormals denormals = Denormals::AreZero)
      : denormals(denormals) {
    enter();
  }
  ~FloatMode() { leave(); }
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

  /// Restores the thread's own mode before the end of the scope. A second call
  /// has no effect.
  void leave();
  /// Continues after leave(), with the thread's present mode as its own.
  void enter();

private:
  const Denormals denormals;
  bool isEntered = false;
#if defined(__x86_64__)
  uint32_t sse = 0;        // MXCSR
  uint16_t x87Status = 0;  // with the exception flags of the x87 unit
  bool changesX87 = false; // if not, `x87` is empty
  struct X87 {             // layout of `fnstenv`
    uint16_t control, unused, status;
    char rest[22];
  } x87;
#elif defined(__aarch64__)
  uint64_t control = 0, status = 0; // FPCR, FPSR
#endif
};

} // namespace transom
