// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control registers of x86-64 and AArch64; elsewhere nothing is set.
#include "runtime/base/FloatMode.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace transom;

#if defined(__x86_64__)
/// All exceptions masked, to nearest.
constexpr unsigned toNearest = 0x1f80;
/// Flush to zero, denormals are zero.
constexpr unsigned areZero = 1u << 15 | 1u << 6;

FloatMode::FloatMode(Denormals denormals) : saved(_mm_getcsr()) {
  _mm_setcsr(denormals == Denormals::AreZero ? toNearest | areZero : toNearest);
}
FloatMode::~FloatMode() { _mm_setcsr(unsigned(saved)); }
#elif defined(__aarch64__)
FloatMode::FloatMode(Denormals denormals) {
  __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
  // Flush to zero, to nearest.
  uint64_t mode = uint64_t(denormals == Denormals::AreZero) << 24;
  __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}
FloatMode::~FloatMode() { __asm__ volatile("msr fpcr, %0" ::"r"(saved)); }
#else
FloatMode::FloatMode(Denormals) : saved(0) {}
FloatMode::~FloatMode() {}
#endif
