// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operand formats: hand-computed panel sizes.
// test/dialects/kern/attrs-invalid.mlir tests the rules.
#include "runtime/base/OperandFormat.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(OperandFormat, plain_panels_have_their_elements_alone) {
  EXPECT_EQ(OperandFormat(DType::F32).getPanelBytes(37), 37 * 32 * 4);
  // In bf16 the depth is padded to 32.
  EXPECT_EQ(OperandFormat(DType::BF16).getPaddedDepth(37), 64);
  EXPECT_EQ(OperandFormat(DType::BF16).getPanelBytes(37), 64 * 32 * 2);
  EXPECT_EQ(OperandFormat(DType::BF16).getStepBytes(), 2 * 32 * 2);
}

TEST(OperandFormat, groups_add_scales_and_minimums) {
  OperandFormat format(StorageType::U4);
  format.interleave = 2;
  format.group = 32;
  format.scales = format.minimums = StorageType::F16;
  EXPECT_FALSE(format.findError());
  EXPECT_EQ(format.getPaddedDepth(65), 96);
  EXPECT_EQ(format.getPanelBytes(96), 96 * 32 / 2 + 2 * (3 * 32 * 2));
}

TEST(OperandFormat, blocks_add_factors_of_scales_and_of_minimums) {
  OperandFormat format(StorageType::U4);
  format.interleave = 2;
  format.group = 32;
  format.scales = format.minimums = StorageType::U8;
  format.block = 256;
  format.blockScales = StorageType::F16;
  EXPECT_FALSE(format.findError());
  EXPECT_EQ(format.getPaddedDepth(257), 512);
  EXPECT_EQ(format.getPanelBytes(512),
            512 * 32 / 2 + 2 * (16 * 32) + 2 * (2 * 32 * 2));
}

TEST(OperandFormat, the_last_group_may_be_short) {
  const OperandFormat format =
      OperandFormat::getQuantized(StorageType::I8, 128);
  EXPECT_EQ(format.getOperandType(), StorageType::I8);
  EXPECT_EQ(format.getNumGroups(128), 1);
  EXPECT_EQ(format.getNumGroups(312), 3);
  EXPECT_EQ(format.getPaddedDepth(312), 320);
  EXPECT_EQ(format.getGroupBytes(), 128 * 32);
  EXPECT_EQ(format.getGroupBytes(56), 64 * 32);
  EXPECT_EQ(format.getPanelBytes(312), 320 * 32 + 3 * 32 * 4);
}

} // namespace
