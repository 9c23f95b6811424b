// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The published schema and reference for graph.json match the operation table.
// TRANSOM_UPDATE=1 in the environment rewrites them.
#include "compiler/import/graphjson/GraphOps.h"
#include "test/compiler/import/Fixture.h"
#include "test/compiler/import/graphjson/SchemaChecker.h"

using namespace transom;
using namespace transom::testing;

static void expectPublished(const std::string &file, const std::string &text) {
  std::string path = sourceFolder() + "/compiler/import/graphjson/" + file;
  if (std::getenv("TRANSOM_UPDATE"))
    std::ofstream(path) << text;
  Result<std::string> published = readSmallFile(path, 1 << 24);
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_TRUE(*published == text)
      << file
      << " is out of date: run unit-import-graphjson with TRANSOM_UPDATE=1";
}

TEST(GraphSchema, published_schema_is_that_of_the_table) {
  expectPublished("graph.schema.json", graphJsonSchema());
}

TEST(GraphSchema, published_reference_is_that_of_the_table) {
  expectPublished("graph-ops.md", graphOpsReference());
}

TEST(GraphSchema, schema_is_json_that_names_each_operation) {
  std::string schema = graphJsonSchema();
  ASSERT_TRUE(parseJson(schema, "schema"));
  for (const GraphOp &op : graphOps())
    EXPECT_NE(schema.find("\"const\": \"" + std::string(op.name) + "\""),
              std::string::npos)
        << op.name;
}

/// The checker for the published schema, and documents to check.
struct GraphSchemaFile : ::testing::Test {
  SchemaChecker checker{graphJsonSchema()};

  /// Returns the first error in a graph with one node and its input `x`.
  std::string complaint(const std::string &node) const {
    return checker.check(
        R"({"transom": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 8]}], "nodes": [)" +
        node + R"(], "outputs": ["n"]})");
  }
};

TEST_F(GraphSchemaFile, accepts_the_examples) {
  int found = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(
           sourceFolder() + "/examples"))
    if (entry.path().filename() == "graph.json") {
      Result<std::string> text = readSmallFile(entry.path(), 1 << 24);
      ASSERT_TRUE(text);
      EXPECT_EQ(checker.check(*text), "") << entry.path();
      ++found;
    }
  EXPECT_GE(found, 5);
}

TEST_F(GraphSchemaFile, attributes_follow_from_the_op) {
  EXPECT_EQ(complaint(R"({"name": "n", "op": "scale", "inputs": ["x"],
                          "attrs": {"factor": 2}})"),
            "");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "constant",
                          "attrs": {"value": "-inf"}})"),
            "");
  // Each error is at the attribute, not at the node.
  EXPECT_EQ(complaint(R"({"name": "n", "op": "scale", "inputs": ["x"],
                          "attrs": {"factr": 2}})"),
            "/nodes/0/attrs: required 'factor'");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "relu", "inputs": ["x"],
                          "attrs": {"factor": 2}})"),
            "/nodes/0/attrs/factor: not allowed");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "cast", "inputs": ["x"],
                          "attrs": {"to": "f64"}})"),
            "/nodes/0/attrs/to: enum");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "scale", "inputs": ["x"]})"),
            "/nodes/0: required 'attrs'");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "add", "inputs": ["x"]})"),
            "/nodes/0/inputs: minItems");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "relu",
                          "inputs": ["x", "x"]})"),
            "/nodes/0/inputs: maxItems");
  EXPECT_EQ(complaint(R"({"name": "n", "op": "scal", "inputs": ["x"]})"),
            "/nodes/0/op: enum");
  EXPECT_EQ(complaint(R"({"name": "n", "inputs": ["x"]})"),
            "/nodes/0: required 'op'");
  EXPECT_EQ(complaint(R"({"block": "b", "repeat": 0})"),
            "/nodes/0/repeat: minimum");
  EXPECT_EQ(complaint(R"({"block": "b", "attrs": {}})"),
            "/nodes/0/attrs: not allowed");
}

TEST_F(GraphSchemaFile, editors_find_the_attributes_of_an_op_by_one_condition) {
  // Each condition names one op, and its `then` has the attributes.
  Result<JsonDocument> schema = parseJson(graphJsonSchema(), "schema");
  ASSERT_TRUE(schema);
  JsonValue all =
      *schema->root().find("$defs")->find("operation")->find("allOf");
  ASSERT_EQ(all.size(), graphOps().size());
  for (size_t i = 0; i < all.size(); ++i) {
    const GraphOp &op = graphOps()[i];
    JsonValue condition = *all[i].find("if")->find("properties")->find("op");
    EXPECT_EQ(*condition.find("const")->asString(), op.name);
    JsonValue attrs = *all[i].find("then")->find("properties")->find("attrs");
    EXPECT_EQ(attrs.find("properties")->size(), op.attrs.size()) << op.name;
  }
}
