// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control registers on x86-64 and AArch64; elsewhere nothing is set. The
// project does not compute with the x87 unit, so its registers are written only
// where they differ, which is rare: these writes are slower than the others.
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
/// The x87 unit: all exceptions masked, to nearest, 64-bit precision.
constexpr uint16_t x87Default = 0x037f;
/// Its exception flags, including the stack fault and summary flags.
constexpr uint16_t x87Flags = 0xff;

void FloatMode::enter() {
  sse = _mm_getcsr();
  _mm_setcsr(denormals == Denormals::AreZero ? toNearest | areZero : toNearest);
  uint16_t x87Control;
  __asm__ volatile("fnstcw %0" : "=m"(x87Control));
  __asm__ volatile("fnstsw %0" : "=m"(x87Status));
  changesX87 = x87Control != x87Default;
  if (changesX87) {
    __asm__ volatile("fnstenv %0" : "=m"(x87));
    __asm__ volatile("fldcw %0" : : "m"(x87Default));
  }
  isEntered = true;
}

void FloatMode::leave() {
  if (!isEntered)
    return;
  isEntered = false;
  _mm_setcsr(sse);
  if (!changesX87) {
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=m"(status));
    if (((status ^ x87Status) & x87Flags) == 0)
      return;
    // A C library function has raised flags.
    __asm__ volatile("fnstenv %0" : "=m"(x87));
    x87.control = x87Default;
    x87.status = uint16_t((status & ~x87Flags) | (x87Status & x87Flags));
  }
  __asm__ volatile("fldenv %0" : : "m"(x87));
}
#elif defined(__aarch64__)
void FloatMode::enter() {
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("mrs %0, fpsr" : "=r"(status));
  // Flush to zero, to nearest.
  const uint64_t mode = uint64_t(denormals == Denormals::AreZero) << 24;
  __asm__ volatile("msr fpcr, %0" ::"r"(mode));
  isEntered = true;
}

void FloatMode::leave() {
  if (!isEntered)
    return;
  __asm__ volatile("msr fpcr, %0" ::"r"(control));
  __asm__ volatile("msr fpsr, %0" ::"r"(status));
  isEntered = false;
}
#else
void FloatMode::enter() { isEntered = true; }
void FloatMode::leave() { isEntered = false; }
#endif
