// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats that become f32 in registers, and the number of rows that fit.
// LowerGemmQuantizedTest.cpp tests the values that their code computes.
#include "passes/lower/emit/DequantizedLowering.h"
#include "runtime/base/InstructionSet.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::lower;

namespace {

TEST(DequantizedLowering, RowsOfF32TakeAllFormatsOfWholeNumbers) {
  for (const OperandFormat &format : OperandFormat::getQuantizedFormats()) {
    const OperandLowering &bytes = OperandLowering::get(format),
                          &floats =
                              OperandLowering::get(format, StorageType::F32);
    EXPECT_NE(&bytes, &floats);
    EXPECT_FALSE(bytes.dequantizes());
    EXPECT_TRUE(floats.dequantizes());
    EXPECT_EQ(bytes.getLhs().getElementBytes(), 1);
    EXPECT_EQ(floats.getLhs().getElementBytes(), 4);
    EXPECT_EQ(bytes.getSuffix(), floats.getSuffix());
  }
  EXPECT_EQ(
      OperandLowering::find(OperandFormat(StorageType::BF16), StorageType::F32),
      nullptr);
}

TEST(DequantizedLowering, RowsFitIntoRegisters) {
  for (auto [type, avx2, avx512] : {std::tuple{StorageType::I8, 4, 12},
                                    {StorageType::I4, 3, 11},
                                    {StorageType::U4, 2, 10}}) {
    const OperandLowering &lowering = OperandLowering::get(
        OperandFormat::getQuantized(type, 32), StorageType::F32);
    EXPECT_EQ(lowering.getMaxMr(*findInstructionSet("avx2")), avx2);
    EXPECT_EQ(lowering.getMaxMr(*findInstructionSet("avx512")), avx512);
  }
}

} // namespace
