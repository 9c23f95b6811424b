// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage table: order and names.
#include "compiler/pipeline/StageTable.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(Stages, areInOrderAndFoundByName) {
  for (size_t i = 0; i < getStages().size(); ++i) {
    const StageInfo &info = getStages()[i];
    EXPECT_EQ(static_cast<size_t>(info.stage), i);
    EXPECT_STREQ(getStageInfo(info.stage).name, info.name);
    Result<Stage> found = parseStage(info.name);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, info.stage);
  }
}

TEST(Stages, suggestsANameForAnUnknownOne) {
  Result<Stage> unknown = parseStage("llvm");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, Status::Usage);
  EXPECT_NE(unknown.error().message.find(
                "unknown stage 'llvm'; supported: attn, attn-opt, kern, "
                "llvm-ir, asm, obj, so"),
            std::string::npos)
      << unknown.error().message;
}

} // namespace
