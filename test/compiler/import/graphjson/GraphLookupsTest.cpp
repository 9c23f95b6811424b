// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables, and index bounds.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphLookups : GraphWithWeights {};

TEST_F(GraphLookups, bounds_the_ids_of_an_embedding) {
  write(R"({"name": "e", "op": "embedding", "inputs": ["ids"],
            "attrs": {"table": "table"}})",
        R"("e")");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("run");
  EXPECT_EQ(entry.getArgAttrOfType<mlir::IntegerAttr>(1, "attn.bound").getInt(),
            16);
  EXPECT_EQ(entry.getArgAttrOfType<mlir::StringAttr>(1, "attn.role"), "ids");
}

TEST_F(GraphLookups, refuses_positions_beyond_the_table) {
  write(R"({"name": "p", "op": "position", "inputs": ["ids"],
            "attrs": {"kind": "nonpad_rank", "pad": 1}},
           {"name": "e", "op": "embedding", "inputs": ["p"], "attrs": {"table": "table"}})",
        R"("e")");
  expectError(folder.path, Status::Rejected, {"18", "16 rows"});
}

} // namespace
