// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction set registry.
#include "runtime/base/InstructionSet.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace transom;

static bool isLowerCaseAlphanumeric(const std::string &name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

TEST(InstructionSet, entriesAreConsistent) {
  std::set<std::string> names;
  for (const InstructionSet &isa : getInstructionSets()) {
    EXPECT_TRUE(names.insert(isa.name).second) << isa.name;
    EXPECT_EQ(findInstructionSet(isa.name), &isa);
    // A register tile and its operands fit in 32 registers, in AVX2 in 16; a
    // vector with 16 lanes takes several narrow registers.
    int64_t registers = isa.tileRows * isa.tileVectors * 512 / isa.vectorBits;
    EXPECT_LE(registers, isa.vectorBits == 256 ? 14 : 30) << isa.name;
    EXPECT_GE(isa.tileRows, isa.bf16Rows) << isa.name;
    // In int8 a group's sums stay in registers. Widened bytes take more
    // registers, so that the f32 sums must also fit.
    EXPECT_LE((isa.dotInt8 ? 1 : 2) * isa.int8Rows * isa.tileVectors * 512 /
                  isa.vectorBits,
              isa.vectorBits == 512 ? 26
              : isa.dotInt8         ? 12
                                    : 16)
        << isa.name;
    // A 32-column panel holds whole tiles.
    EXPECT_TRUE(isa.tileVectors == 1 || isa.tileVectors == 2) << isa.name;
    // Key panels are transposed in squares with 16 rows, one vector each.
    if (isa.vectorBits == 512)
      EXPECT_EQ(isa.tileVectors, 2) << isa.name;
    EXPECT_LE(isa.tileRows, 16) << isa.name;
    // The name is part of symbols and file names.
    EXPECT_TRUE(isLowerCaseAlphanumeric(isa.name)) << isa.name;
  }
  EXPECT_EQ(findInstructionSet("avx3"), nullptr);
}

TEST(InstructionSet, someAreForTypesOfModels) {
  auto getNames = [](ModelTypes types) {
    std::vector<std::string> names;
    for (const InstructionSet &isa : getInstructionSets())
      if (isa.isFor(types) && isa.target == std::string("x86-64-v4"))
        names.emplace_back(isa.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(getNames({}), Names{"avx512"});
  EXPECT_EQ(getNames({/*bf16=*/true, /*int8=*/false}),
            (Names{"avx512", "avx512bf16", "amx"}));
  EXPECT_EQ(getNames({/*bf16=*/false, /*int8=*/true}),
            (Names{"avx512", "avx512vnni", "amx"}));
  EXPECT_TRUE(findInstructionSet("avxvnni")->isFor({false, true}));
  EXPECT_FALSE(findInstructionSet("avxvnni")->isFor({true, false}));
}

TEST(InstructionSet, runnableOnesAreStrongestFirst) {
  const InstructionSet *previous = nullptr;
  for (const InstructionSet *isa : getRunnableInstructionSets()) {
    EXPECT_TRUE(isa->runsHere());
    EXPECT_EQ(std::string(isa->triple),
              getRunnableInstructionSets().front()->triple);
    EXPECT_TRUE(!previous || isa < previous) << isa->name;
    previous = isa;
  }
}

#if defined(__x86_64__)
TEST(InstructionSet, cpuTestsAgreeWithTheCompilersRuntime) {
  __builtin_cpu_init();
  EXPECT_EQ(findInstructionSet("avx2")->runsHere(),
            __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") &&
                __builtin_cpu_supports("bmi2"));
  EXPECT_EQ(findInstructionSet("avx512")->runsHere(),
            __builtin_cpu_supports("avx512f") &&
                __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl"));
}
#endif

TEST(InstructionSet, errorsListTheSupportedOnes) {
  Result<const InstructionSet *> unknown = getInstructionSet("avx3");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, Status::Unsupported);
  EXPECT_EQ(unknown.error().message.find(
                "unsupported instruction set 'avx3'; supported: avx2, avxvnni"),
            0u);
}
