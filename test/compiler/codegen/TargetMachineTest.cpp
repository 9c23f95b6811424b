// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that `--target` values select.
#include "compiler/codegen/TargetMachine.h"
#include "runtime/base/InstructionSet.h"
#include "llvm/Target/TargetMachine.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(TargetMachine, TargetsAreSortedAndDefaultToAllOfTheHost) {
  Result<std::vector<const InstructionSet *>> all = selectTargets({});
  ASSERT_TRUE(all);
  EXPECT_GE(all->size(), 2u);
  for (const InstructionSet *isa : *all)
    EXPECT_STREQ(isa->triple, getInstructionSets().front().triple);
  Result<std::vector<const InstructionSet *>> both =
      selectTargets({"x86-64-v4", "x86-64-v3", "x86-64-v4"});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2u);
  EXPECT_STREQ((*both)[0]->name, "avx2");
}

TEST(TargetMachine, TargetsOfTwoMachinesDoNotMix) {
  Result<std::vector<const InstructionSet *>> arm = selectTargets({"aarch64"});
  ASSERT_TRUE(arm);
  ASSERT_EQ(arm->size(), 1u);
  EXPECT_STREQ((*arm)[0]->name, "neon");
  Result<std::vector<const InstructionSet *>> mixed =
      selectTargets({"x86-64-v3", "aarch64"});
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().status, Status::Usage);
  EXPECT_NE(mixed.error().message.find("'x86-64-v3' and 'aarch64'"),
            std::string::npos);
}

TEST(TargetMachine, UnknownTargetIsAUsageErrorWithASuggestion) {
  Result<std::vector<const InstructionSet *>> none =
      selectTargets({"x86-64-v5"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::Usage);
  EXPECT_NE(none.error().message.find("x86-64-v4"), std::string::npos);
}

TEST(TargetMachine, ExistsForEachInstructionSet) {
  for (const InstructionSet &isa : getInstructionSets()) {
    auto machine = createTargetMachine(isa);
    ASSERT_TRUE(machine) << isa.name;
    EXPECT_EQ((*machine)->Options.AllowFPOpFusion, llvm::FPOpFusion::Strict);
  }
}

} // namespace
