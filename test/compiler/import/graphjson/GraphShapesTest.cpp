// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor slices.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphShapes : GraphWithWeights {};

TEST_F(GraphShapes, splits_into_numbered_results) {
  write(R"({"name": "s", "op": "split", "inputs": ["x"],
            "attrs": {"axis": -1, "parts": 2}, "outputs": ["left", "right"]},
           {"name": "a", "op": "add", "inputs": ["s:1", "left"]})",
        R"("a")");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "attn.slice"), 2u);
}

TEST(GraphShapesErrors, slice_that_can_leave_its_axis) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "slice", "inputs": ["x"], "attrs": {"axis": 1, "size": 4}})",
          "\"a\""),
      Status::Rejected, {"can leave the axis of size 'seq'"});
}

} // namespace
