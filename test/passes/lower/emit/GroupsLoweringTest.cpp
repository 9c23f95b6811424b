// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grouped integer formats. LowerGemmQuantizedTest.cpp tests the values that
// their code computes.
#include "passes/lower/emit/GroupsLowering.h"
#include "runtime/base/InstructionSet.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::lower;

namespace {

TEST(GroupsLowering, FormatsHaveCodecsAndLowerings) {
  for (StorageType type : {StorageType::I8, StorageType::I4, StorageType::U4})
    for (int64_t group : {16, 32, 64, 96, 128, 256, 512, 1024, 2048}) {
      const OperandFormat format = OperandFormat::getQuantized(type, group);
      const bool isKnown = group != 96 && group >= 32 && group <= 1024;
      EXPECT_EQ(OperandLowering::find(format) != nullptr, isKnown) << group;
      EXPECT_EQ(findPanelCodec(format) != nullptr, isKnown) << group;
    }
}

/// The instruction set's byte multiplication: one instruction, or widened
/// words.
TEST(GroupsLowering, BytesAreMultipliedAsTheInstructionSetCan) {
  const OperandLowering &lowering =
      OperandLowering::get(OperandFormat::getQuantized(StorageType::I8, 128));
  EXPECT_EQ(lowering.getRhsOffset(*findInstructionSet("avx512vnni")), 128);
  EXPECT_EQ(lowering.getRhsOffset(*findInstructionSet("avxvnni")), 128);
  EXPECT_EQ(lowering.getRhsOffset(*findInstructionSet("avx512")), 0);
  EXPECT_EQ(lowering.getMaxMr(*findInstructionSet("avx2")), 2);
  for (auto [type, offset] :
       {std::pair{StorageType::I4, 8}, {StorageType::U4, 0}})
    for (const char *isa : {"avx512vnni", "avx512", "avxvnni", "avx2"})
      EXPECT_EQ(OperandLowering::get(OperandFormat::getQuantized(type, 32))
                    .getRhsOffset(*findInstructionSet(isa)),
                offset);
}

} // namespace
