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

TEST_F(GraphOrder, notes_what_nothing_reads) {
  write(R"({"name": "a", "op": "relu", "inputs": ["x"]},
           {"name": "b", "op": "relu", "inputs": ["x"]},
           {"name": "c", "block": "l", "inputs": ["a"]})",
        "\"c\"", R"("blocks": {"l": {"inputs": ["h"], "nodes": [
             {"name": "d", "op": "relu", "inputs": ["h"]},
             {"name": "e", "op": "neg", "inputs": ["d"]}], "outputs": ["d"]},
           "m": {"inputs": ["h"], "nodes": [
             {"name": "f", "op": "relu", "inputs": ["h"]}], "outputs": ["f"]}},)");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string notes;
  for (const std::string &note : result.info.notes)
    notes += note + "\n";
  for (const char *part : {"'/nodes/1': nothing reads node 'b'\n",
                           "'/blocks/l/nodes/1': nothing reads node 'e'\n",
                           "no node names block 'm'\n"})
    EXPECT_NE(notes.find(part), std::string::npos) << part << " in " << notes;
  EXPECT_EQ(result.info.notes.size(), 3u) << notes;
}

TEST(GraphOrderErrors, used_twice) {
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["x"]},
                            {"name": "a", "op": "neg", "inputs": ["x"]})",
            "\"a\""),
      Status::Rejected,
      {"'/nodes/1'", "name 'a' is used twice; first in line ", ", '/nodes/0'"});
  expectGraphError(
      graph(R"({"name": "x", "op": "relu", "inputs": ["ids"]})", "\"x\""),
      Status::Rejected,
      {"name 'x' is used twice; first in line 2, '/inputs/0'"});
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})",
                         R"("a", {"name": "a", "edge": "a"})"),
                   Status::Rejected,
                   {"'/outputs/1'", "name 'a' is used twice; first in line ",
                    "'/outputs/0'"});
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
