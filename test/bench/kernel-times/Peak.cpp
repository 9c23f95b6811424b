// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fifteen independent chains, enough for two pipes with a latency of six
// cycles, written in assembly so that no compiler can shorten them. The
// registers start as zeros.
#include "test/bench/kernel-times/Peak.h"
#include "runtime/base/InstructionSet.h"
#include "tools/commands/bench/Limits.h"
#include <algorithm>
#include <chrono>
#include <cstdint>

using namespace transom;

static constexpr int64_t kSteps = 2000;

/// One instruction in each chain, by the register's letter.
#define TRANSOM_STEP(OPERATION, R)                                             \
  OPERATION " %%" R "15, %%" R "15, %%" R "0\n" OPERATION " %%" R "15, %%" R   \
            "15, %%" R "1\n" OPERATION " %%" R "15, %%" R "15, %%" R           \
            "2\n" OPERATION " %%" R "15, %%" R "15, %%" R "3\n" OPERATION      \
            " %%" R "15, %%" R "15, %%" R "4\n" OPERATION " %%" R "15, %%" R   \
            "15, %%" R "5\n" OPERATION " %%" R "15, %%" R "15, %%" R           \
            "6\n" OPERATION " %%" R "15, %%" R "15, %%" R "7\n" OPERATION      \
            " %%" R "15, %%" R "15, %%" R "8\n" OPERATION " %%" R "15, %%" R   \
            "15, %%" R "9\n" OPERATION " %%" R "15, %%" R "15, %%" R           \
            "10\n" OPERATION " %%" R "15, %%" R "15, %%" R "11\n" OPERATION    \
            " %%" R "15, %%" R "15, %%" R "12\n" OPERATION " %%" R "15, %%" R  \
            "15, %%" R "13\n" OPERATION " %%" R "15, %%" R "15, %%" R "14\n"

/// A loop with kSteps steps; all vector registers are zeroed and clobbered.
#define TRANSOM_LOOP(OPERATION, R)                                             \
  asm volatile("vzeroall\n1:\n" TRANSOM_STEP(OPERATION, R) "dec %0\njnz 1b\n"  \
                                                           "vzeroupper\n"      \
               : "+r"(steps)                                                   \
               :                                                               \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
                 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",   \
                 "xmm14", "xmm15")

namespace {
void loopOfAvx2() {
  int64_t steps = kSteps;
  TRANSOM_LOOP("vfmadd231ps", "ymm");
}
void loopOfAvx512() {
  int64_t steps = kSteps;
  TRANSOM_LOOP("vfmadd231ps", "zmm");
}
void loopOfBf16() {
  int64_t steps = kSteps;
  TRANSOM_LOOP("vdpbf16ps", "zmm");
}
} // namespace

double transom::test::peakFlops(const std::string &isa,
                                const std::string &dtype) {
  const InstructionSet *known = findInstructionSet(isa);
  if (known && known->amx && dtype == "bf16")
    return tools::measureLimits(isa, 1).bf16Flops;
  const bool wide = known && known->vectorBits == 512;
  const bool pairs = known && known->dotBf16 && dtype == "bf16";
  auto *loop = pairs ? loopOfBf16 : wide ? loopOfAvx512 : loopOfAvx2;
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int window = 0; window < 400; ++window) {
    Clock::time_point start = Clock::now();
    loop();
    best = std::min(
        best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return 2.0 * 15 * (wide ? 16 : 8) * (pairs ? 2 : 1) * kSteps / best;
}
