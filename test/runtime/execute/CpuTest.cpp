// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction set choice, and the core count.
#include "runtime/execute/Cpu.h"
#include "runtime/base/InstructionSet.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

using namespace transom;

TEST(Cpu, takes_the_best_that_is_there_and_runs) {
  const auto &runnable = getRunnableInstructionSets();
  if (runnable.empty())
    GTEST_SKIP() << "this CPU runs none of the instruction sets";
  std::vector<std::string> all = getInstructionSetNames();
  Result<size_t> chosen = chooseIsa(all, "", "m.so");
  ASSERT_TRUE(bool(chosen));
  EXPECT_EQ(all[*chosen], runnable.front()->name);
  Result<size_t> last = chooseIsa({"none", runnable.back()->name}, "", "m.so");
  ASSERT_TRUE(bool(last));
  EXPECT_EQ(*last, 1u);
}

TEST(Cpu, refuses_with_the_list) {
  Result<size_t> none = chooseIsa({"vliw"}, "", "m.so");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::Unsupported);
  EXPECT_NE(none.error().message.find("m.so"), std::string::npos);
  EXPECT_NE(none.error().message.find("vliw"), std::string::npos);

  Result<size_t> unknown = chooseIsa({"avx2"}, "avx3", "m.so");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, Status::Unsupported);
  EXPECT_NE(unknown.error().message.find("did you mean 'avx2'"),
            std::string::npos);

  Result<size_t> absent = chooseIsa({"avx2"}, "avx512", "m.so");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().status, Status::Unsupported);
  EXPECT_NE(absent.error().message.find("it has code for: avx2"),
            std::string::npos);

  // Instruction sets that this CPU lacks.
  for (const InstructionSet &isa : getInstructionSets()) {
    if (isa.runsHere())
      continue;
    Result<size_t> foreign = chooseIsa({isa.name}, isa.name, "m.so");
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().status, Status::Unsupported);
    EXPECT_NE(foreign.error().message.find("does not run"), std::string::npos);
  }
}

TEST(Cpu, counts_cores_within_the_affinity) {
  EXPECT_GE(usableCores(), 1u);
  EXPECT_LE(usableCores(), usableCpus());
  unsigned inThread = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i != CPU_SETSIZE; ++i) {
      CPU_SET(i, &one);
      if (sched_setaffinity(0, sizeof one, &one) == 0)
        break;
      CPU_ZERO(&one);
    }
    inThread = usableCores();
  }).join();
  EXPECT_EQ(inThread, 1u);
}
