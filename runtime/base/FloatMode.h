// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The floating-point mode that the project computes in, whatever mode a host
// has set.
#pragma once
#include <cstdint>

namespace transom {

/// What operations do with denormals.
enum class Denormals { AreZero, AreKept };

/// Sets the floating-point mode of generated code (to nearest, denormals as
/// zero), or the same with denormals, and restores the thread's own mode and
/// exception flags at the end. On x86-64 this includes the x87 unit, by whose
/// rounding mode the C library prints numbers.
class FloatMode {
public:
  explicit FloatMode(Denormals denormals = Denormals::AreZero)
      : denormals(denormals) {
    enter();
  }
  ~FloatMode() { leave(); }
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

  /// Gives the thread its own mode back before the end of the scope. Calling it
  /// twice does no harm.
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
  struct X87 {             // what `fnstenv` stores
    uint16_t control, unused, status;
    char rest[22];
  } x87;
#elif defined(__aarch64__)
  uint64_t control = 0, status = 0; // FPCR, FPSR
#endif
};

} // namespace transom
