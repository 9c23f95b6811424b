// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The published schema and reference of graph.json are what the table of
// operations says. TRANSOM_UPDATE=1 in the environment rewrites them.
#include "compiler/import/graphjson/GraphOps.h"
#include "test/compiler/import/Fixture.h"

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
