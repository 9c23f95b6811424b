// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks on a module: their order, their fields, and what is dropped.
#include "passes/Remarks.h"
#include "dialects/common/Location.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

class RemarksTest : public ::testing::Test {
protected:
  Location at(StringRef path) {
    return makeLocation(&context, path, "config.json", "");
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
};

TEST_F(RemarksTest, AreReadInTheOrderInWhichTheyWereMade) {
  {
    Remarks remarks(*module, "first-pass");
    remarks.passed(at("layer.0"), "fused 2 operations");
  }
  {
    Remarks remarks(*module, "second-pass");
    remarks.missed(at("layer.1"), "another user");
  }
  std::vector<Remark> all = Remarks::readFrom(*module);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].pass, "first-pass");
  EXPECT_EQ(all[0].location, "layer.0");
  EXPECT_EQ(all[0].kind, Remark::Passed);
  EXPECT_EQ(all[0].reason, "fused 2 operations");
  EXPECT_EQ(all[1].pass, "second-pass");
  EXPECT_EQ(all[1].kind, Remark::Missed);
}

TEST_F(RemarksTest, EqualRemarksAreKeptOnce) {
  for (int i = 0; i < 2; ++i) {
    Remarks remarks(*module, "pass");
    remarks.missed(at("layer.0"), "another user");
    remarks.missed(at("layer.0"), "another user");
  }
  EXPECT_EQ(Remarks::readFrom(*module).size(), 1u);
}

TEST_F(RemarksTest, FailedMatchesOfPatternsAreMissed) {
  {
    Remarks remarks(*module, "pass");
    remarks.notifyMatchFailure(
        at("layer.0"), [](Diagnostic &reason) { reason << "a wide tensor"; });
  }
  std::vector<Remark> all = Remarks::readFrom(*module);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Remark::Missed);
  EXPECT_EQ(all[0].reason, "a wide tensor");
}

TEST_F(RemarksTest, APassWithoutRemarksSetsNoAttribute) {
  {
    Remarks remarks(*module, "pass");
  }
  EXPECT_FALSE((*module)->hasAttr(Remarks::attributeName));
}

} // namespace
