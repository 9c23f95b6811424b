// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass names, and pipeline ranges between two passes.
#include "compiler/pipeline/PassRange.h"
#include "gtest/gtest.h"
#include <set>

using namespace transom;

namespace {

const PassInfo *find(const char *name) {
  auto pass = findPass(name);
  EXPECT_TRUE(pass) << pass.error().message;
  return pass ? *pass : nullptr;
}

TEST(PassRange, namesAreDistinctAndFound) {
  std::set<std::string> names;
  for (const PassInfo &pass : getPasses()) {
    EXPECT_TRUE(names.insert(getPassName(pass)).second) << getPassName(pass);
    EXPECT_EQ(find(getPassName(pass).c_str()), &pass);
  }
  EXPECT_TRUE(names.count("attn-fuse-attention"));
  EXPECT_TRUE(names.count("cse:3"));
}

TEST(PassRange, wrongNamesSayWhatIsSupported) {
  auto message = [](const char *name) {
    auto pass = findPass(name);
    EXPECT_FALSE(pass);
    return pass ? std::string() : pass.error().message;
  };
  EXPECT_EQ(message("cse"), "ambiguous or unknown pass 'cse'; supported: "
                            "cse:1, cse:2, cse:3");
  EXPECT_EQ(message("kern-fuse-norm:1"),
            "ambiguous or unknown pass 'kern-fuse-norm:1'; supported: "
            "kern-fuse-norm");
  EXPECT_NE(message("kern-fuse-nrom").find("did you mean 'kern-fuse-norm'?"),
            std::string::npos);
}

TEST(PassRange, addsThePassesBetweenBothEnds) {
  mlir::MLIRContext context;
  mlir::PassManager all(&context), some(&context), one(&context);
  EXPECT_TRUE(populateRange(all, nullptr, nullptr, {}));
  size_t native = 0;
  for (const PassInfo &pass : getPasses())
    native += runsPass(pass, {});
  EXPECT_EQ(all.size(), native);

  // Across a stage border, without the other backend's pass.
  EXPECT_TRUE(populateRange(some, find("attn-drop-unused-weights"),
                            find("kern-choose-precision"), {}));
  EXPECT_EQ(some.size(), 6u);
  EXPECT_TRUE(populateRange(one, find("cse:2"), find("cse:2"), {}));
  EXPECT_EQ(one.size(), 1u);
}

TEST(PassRange, refusesEndsInTheWrongOrder) {
  mlir::MLIRContext context;
  mlir::PassManager manager(&context);
  auto done = populateRange(manager, find("kern-plan-memory"),
                            find("attn-fuse-attention"), {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
  EXPECT_EQ(done.error().message,
            "pass 'attn-fuse-attention' runs before 'kern-plan-memory'");
}

} // namespace
