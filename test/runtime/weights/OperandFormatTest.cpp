// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operand formats: sizes of panels by hand, and codecs that read back what they
// packed. The rules are tested by test/dialects/kern/attrs-invalid.mlir.
#include "runtime/weights/OperandFormat.h"
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

TEST(OperandFormat, codecs_read_back_what_they_packed) {
  constexpr int64_t count = 5, depth = 37;
  std::vector<float> rows(count * depth);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(i % 128); // exact in bf16 too
  for (DType type : {DType::F32, DType::BF16}) {
    OperandFormat format(type);
    const PanelCodec *codec = findPanelCodec(format);
    ASSERT_TRUE(codec) << format.str();
    std::vector<char> panel(format.getPanelBytes(depth));
    codec->pack(rows.data(), count, depth, panel.data());
    std::vector<float> back(rows.size());
    codec->unpack(panel.data(), count, depth, back.data());
    EXPECT_EQ(back, rows) << format.str();
  }
}

TEST(OperandFormat, formats_that_nothing_packs_have_no_codec) {
  OperandFormat format(StorageType::I8);
  format.group = 32;
  format.scales = StorageType::F32;
  EXPECT_FALSE(format.findError());
  EXPECT_FALSE(findPanelCodec(format));
}

} // namespace
