// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms and masks.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphNorms : GraphWithWeights {};

TEST_F(GraphNorms, are_those_of_the_dialect) {
  write(
      R"({"name": "a", "op": "layer_norm", "inputs": ["x"], "attrs": {"gamma": "b", "beta": "b"}},
           {"name": "c", "op": "rms_norm", "inputs": ["a"], "attrs": {"gamma": "b", "eps": 0.5}})",
      R"("c")");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "attn.layer_norm"), 1u);
  EXPECT_EQ(getCount(result.text(), "eps 5.0"), 1u);
}

TEST_F(GraphNorms, a_negative_eps_is_refused) {
  write(
      R"({"name": "a", "op": "rms_norm", "inputs": ["x"], "attrs": {"gamma": "b", "eps": -1}})",
      R"("a")");
  expectError(folder.path, Status::Rejected, {"'eps' is negative"});
}

TEST_F(GraphNorms, a_value_belongs_to_a_bool_mask) {
  write(
      R"({"name": "a", "op": "mask", "inputs": ["x", "x"], "attrs": {"value": 0}})",
      R"("a")");
  expectError(folder.path, Status::Rejected,
              {"'value' belongs to a bool mask"});
}

} // namespace
