// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expressions as strings, and errors for malformed strings.
#include "test/dialects/weights/MemorySource.h"

using namespace transom;
using namespace transom::test;

static std::string parseError(const std::string &text) {
  Result<WeightExpr> parsed = WeightExpr::parse(text);
  return parsed ? "parsed as " + parsed->str() : parsed.error().message;
}

TEST(WeightParser, text_round_trips) {
  for (const char *text :
       {"file(\"a.weight\")",
        "file(\"a\\22\\5Cb\\0A\")",
        "transpose(file(\"a\"), [1, 0])",
        "slice(file(\"a\"), 0, 1, 2)",
        "concat(1, file(\"a\"), file(\"b\"), fill([2, 3], 1.0))",
        "scale(file(\"a\"), 0.125)",
        "scale(file(\"a\"), 1e-30)",
        "add(file(\"a\"), file(\"b\"))",
        "pad(file(\"a\"), 1, 32)",
        "reshape(file(\"a\"), [2, 3])",
        "fill([], -inf)",
        "sinusoid(512, 768, 0)",
        "sinusoid(9, 5, 2)",
        "values([2, 1], [1.0, 2.5])",
        "values([0], [])",
        "triangle([1, 8, 8], -1, 0.0, -inf)",
        "angles(4096, 1.0, [1.0, 0.5])",
        "interleave(8, file(\"a\"), scale(file(\"b\"), 2.0))",
        "matmul(file(\"a\"), file(\"b\"))",
        "layer_norm(file(\"a\"), file(\"g\"), file(\"b\"), 1e-05)",
        "with_norms(file(\"a\"), file(\"n\"))"})
    EXPECT_EQ(expr(text).str(), text);
  // Spaces are dropped; files are in their textual order.
  EXPECT_EQ(expr(" add( file( \"a\" ) ,file(\"b\") ) ").str(),
            "add(file(\"a\"), file(\"b\"))");
  EXPECT_EQ(expr("add(file(\"b\"), add(file(\"a\"), file(\"b\")))").files(),
            (std::vector<std::string>{"b", "a"}));
}

TEST(WeightParser, malformed_text_is_rejected_with_its_column) {
  EXPECT_EQ(parseError(""),
            "weight expression: expected an expression at column 1");
  EXPECT_EQ(parseError("file(a)"),
            "weight expression: expected '\"' at column 6");
  EXPECT_EQ(parseError("file(\"a\""),
            "weight expression: expected ')' at column 9");
  EXPECT_EQ(parseError("file(\"a\") x"),
            "weight expression: expected the end at column 11");
  EXPECT_EQ(parseError("fill([2, x], 1)"),
            "weight expression: expected an integer at column 10");
  EXPECT_EQ(parseError("scale(file(\"a\"), x)"),
            "weight expression: expected a number at column 18");
  EXPECT_EQ(parseError("concat(1)"),
            "weight expression: expected at least one operand at column 9");
  EXPECT_EQ(parseError("rotate(file(\"a\"))").substr(0, 73),
            "weight expression: unknown operation 'rotate'; supported: file, "
            "transpose");
  EXPECT_EQ(parseError("file(\"\\4\")"),
            "weight expression: expected two hexadecimal digits after '\\' at "
            "column 7");
  // Incomplete and wrong operands.
  for (const char *text :
       {"file", "file(", "file(\"", "transpose(file(\"a\"))",
        "transpose(file(\"a\"), [0", "slice(file(\"a\"), 0, 1)",
        "add(file(\"a\"))", "sinusoid(1, 2, 3)",
        "fill([99999999999999999999], 1)", "concat(0, )", "interleave(8)",
        "interleave(, file(\"a\"))", "angles(8, 1)", "angles(8, [1])",
        "angles(8, 1, [1, ])", "matmul(file(\"a\"))",
        "layer_norm(file(\"a\"), file(\"g\"), 1)",
        "layer_norm(file(\"a\"), file(\"g\"), file(\"b\"))",
        "with_norms(file(\"a\"))"})
    EXPECT_EQ(parseError(text).substr(0, 18), "weight expression:") << text;
  // Nesting is limited.
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += "scale(";
  EXPECT_NE(parseError(deep).find("nested deeper than the limit of 200"),
            std::string::npos);
}
