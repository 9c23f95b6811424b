// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls with nothing to compute, and unknown calls.
#include "test/runtime/onednn/Calls.h"

using namespace transom;
using namespace transom::test;

namespace {

using Shim = OneDnnTest;

TEST_F(Shim, leavesNothingToDoWithoutRows) {
  Product product(0, 16, 8);
  EXPECT_EQ(run(product.call), "");
}

TEST_F(Shim, sumsNothingToZero) {
  std::vector<float> nothing(1), out(12, NAN);
  transom_onednn_call call{};
  call.primitive = TRANSOM_ONEDNN_BATCH_MATMUL;
  call.input = makeTensor(nothing, {3, 0});
  call.rhs = makeTensor(nothing, {0, 4});
  call.out = makeTensor(out, {3, 4});
  ASSERT_EQ(run(call), "");
  EXPECT_EQ(out, std::vector<float>(12, 0.0f));
}

TEST_F(Shim, tellsWhatItDoesNotKnow) {
  Product product(2, 4, 4);
  product.call.primitive = 99;
  EXPECT_EQ(run(product.call), "unknown primitive");
  product.call.primitive = TRANSOM_ONEDNN_MATMUL;
  product.call.activation = 99;
  EXPECT_EQ(run(product.call), "unknown activation");
}

} // namespace
