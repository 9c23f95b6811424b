// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage and pass table, and passes that may be disabled.
#include "compiler/pipeline/Pipeline.h"
#include "gtest/gtest.h"

using namespace transom;

namespace {

TEST(Pipeline, flagsAreThoseOfThePasses) {
  for (const PassInfo &info : getPasses())
    EXPECT_EQ(info.create({})->getArgument(), info.flag);
}

TEST(Pipeline, passesAreInTheOrderOfTheStages) {
  for (size_t i = 1; i < getPasses().size(); ++i)
    EXPECT_LE(getPasses()[i - 1].stage, getPasses()[i].stage);
}

TEST(Pipeline, requiredEntriesRunWhenTheirFlagIsDisabled) {
  // `canonicalize` may be disabled among the graph passes, not in the lowering.
  mlir::MLIRContext context;
  mlir::PassManager all(&context), fewer(&context);
  populateStage(all, Stage::LlvmIr, {});
  PipelineOptions options;
  options.disabled = {"canonicalize", "cse"};
  populateStage(fewer, Stage::LlvmIr, options);
  EXPECT_EQ(fewer.size(), all.size());
}

TEST(Pipeline, leavesOutWhatIsDisabled) {
  mlir::MLIRContext context;
  mlir::PassManager all(&context), fewer(&context);
  populateStage(all, Stage::AttnOpt, {});
  PipelineOptions options;
  options.disabled = {"cse", "attn-remove-padding"};
  populateStage(fewer, Stage::AttnOpt, options);
  EXPECT_EQ(fewer.size(), all.size() - 3); // cse runs twice
}

TEST(Pipeline, refusesToDisableUnknownAndRequiredPasses) {
  EXPECT_TRUE(checkDisabledPasses({}));
  EXPECT_TRUE(checkDisabledPasses({"attn-outline-layers", "canonicalize"}));
  auto unknown = checkDisabledPasses({"attn-fuse-atention"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, Status::Usage);
  auto holds = [](const Error &error, const char *text) {
    return error.message.find(text) != std::string::npos;
  };
  EXPECT_TRUE(
      holds(unknown.error(), "unknown pass 'attn-fuse-atention'; supported: "));
  EXPECT_TRUE(holds(unknown.error(), "did you mean 'attn-fuse-attention'?"));
  auto required = checkDisabledPasses({"attn-infer-shapes"});
  ASSERT_FALSE(required);
  EXPECT_TRUE(
      holds(required.error(),
            "pass 'attn-infer-shapes' cannot be disabled; supported: "));
  EXPECT_TRUE(holds(required.error(), "kern-fuse-norm"));
}

} // namespace
