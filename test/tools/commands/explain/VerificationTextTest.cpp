// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verification section, and errors as text.
#include "tools/commands/explain/Verification.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

PhaseOperation makeOperation(std::vector<std::optional<double>> relative) {
  PhaseOperation operation;
  for (const std::optional<double> &value : relative)
    operation.errors.push_back({"avx2", value, value, 8, "a call"});
  return operation;
}

TEST(VerificationText, TheLargestErrorCounts) {
  EXPECT_EQ(formatLargestError({}), "");
  EXPECT_EQ(formatLargestError({makeOperation({})}), "");
  EXPECT_EQ(formatLargestError({makeOperation({0.0})}), "0");
  EXPECT_EQ(
      formatLargestError({makeOperation({1e-7, 2.5e-7}), makeOperation({0.0})}),
      "2.5e-07");
  EXPECT_EQ(formatLargestError({makeOperation({1e-7, std::nullopt})}),
            "no number");
}

TEST(VerificationText, NothingIsSaidOfWhatWasNotChecked) {
  EXPECT_EQ(describeVerification(Explanation()), "");
}

TEST(VerificationText, ADifferenceHasItsLines) {
  Explanation explanation;
  ExplainedVerification &verification = explanation.verification.emplace();
  verification.message = "difference after 'fuse'";
  ExplainedDifference &difference = verification.difference.emplace();
  difference.before = {"%0 = attn.gelu"};
  difference.after = "%0 = attn.tanh";
  difference.replay = "transom-opt x";
  verification.code.push_back({"avx2", "encode", 1, 3, 40, 2});
  verification.codeDifference = "phase 'p' leaves 1";
  verification.notRun = {"machine code for avx512: this CPU lacks it"};
  const std::string text = describeVerification(explanation);
  for (const char *line :
       {"passes        difference after 'fuse'\n",
        "  before      %0 = attn.gelu\n", "  after       %0 = attn.tanh\n",
        "  replay      transom-opt x\n",
        "entry 'encode' on avx2: other bits than the kern module in 2 runs",
        "  first       phase 'p' leaves 1\n",
        "not run       machine code for avx512: this CPU lacks it\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

} // namespace
