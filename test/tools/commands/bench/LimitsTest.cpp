// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's limits are available for each instruction set that it supports,
// and the best of several bursts counts.
#include "tools/commands/bench/Limits.h"
#include "runtime/base/InstructionSet.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

TEST(Limits, AreMeasuredForEachInstructionSetThatRunsHere) {
  for (const InstructionSet &set : getInstructionSets()) {
    if (!set.runsHere())
      continue;
    SCOPED_TRACE(set.name);
    LimitMeter meter(set.name, 1);
    meter.burst();
    EXPECT_GT(meter.best().flops, 0);
    EXPECT_GT(meter.best().bandwidth, 0);
    // Without a bf16 instruction the limit is the f32 limit.
    if (!set.dotBf16)
      EXPECT_EQ(meter.best().bf16Flops, meter.best().flops);
    if (!set.dotInt8)
      EXPECT_EQ(meter.best().int8Flops, meter.best().flops);
    else
      EXPECT_GT(meter.best().int8Flops, meter.best().flops);
  }
}

TEST(Limits, ACacheIsReadFasterThanMemory) {
  // A single run may be disturbed, the best among many hardly.
  double cache = 0, memory = 0;
  for (int turn = 0; turn < 20 && cache <= memory; ++turn) {
    LimitMeter small("avx2", 1, 16 * 1024), large("avx2", 1);
    for (int burst = 0; burst < 4; ++burst) {
      small.burst();
      large.burst();
    }
    cache = std::max(cache, small.best().bandwidth);
    memory = std::max(memory, large.best().bandwidth);
  }
  EXPECT_GT(cache, memory);
}

TEST(Limits, TheBestBurstCounts) {
  for (const InstructionSet &set : getInstructionSets()) {
    if (!set.runsHere())
      continue;
    SCOPED_TRACE(set.name);
    LimitMeter meter(set.name, 2);
    MachineLimits before;
    for (int burst = 0; burst < 3; ++burst) {
      meter.burst();
      EXPECT_GE(meter.best().flops, before.flops);
      EXPECT_GE(meter.best().bf16Flops, before.bf16Flops);
      EXPECT_GE(meter.best().int8Flops, before.int8Flops);
      EXPECT_GE(meter.best().bandwidth, before.bandwidth);
      before = meter.best();
    }
  }
}

} // namespace
