// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes in any order, and cycles.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphOrder : GraphWithWeights {};

TEST_F(GraphOrder, reads_nodes_in_any_order) {
  write(R"({"name": "b", "op": "relu", "inputs": ["a"]},
           {"name": "a", "op": "neg", "inputs": ["x"]})",
        R"({"name": "y", "edge": "b"})");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("run");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry.getResultAttrOfType<mlir::StringAttr>(0, "attn.name"), "y");
  EXPECT_EQ(entry.getArgAttrOfType<mlir::StringAttr>(1, "attn.dtype"), "i32");
}

TEST(GraphOrderErrors, cycle) {
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["b"]},
                            {"name": "b", "op": "relu", "inputs": ["a"]})",
                         "\"a\""),
                   Status::Rejected, {"cycle: a -> b -> a"});
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["a"]})", "\"a\""),
      Status::Rejected, {"cycle: a -> a"});
}

TEST(GraphOrderErrors, block_in_itself) {
  expectGraphError(graph(R"({"name": "a", "block": "l", "inputs": ["x"]})",
                         "\"a\"",
                         R"("blocks": {"l": {"inputs": ["h"], "nodes": [
                {"name": "again", "block": "l", "inputs": ["h"]}],
                "outputs": ["again"]}},)"),
                   Status::Rejected, {"block 'l' contains itself"});
}

} // namespace
