// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expression shapes, and operands that do not fit.
#include "test/dialects/weights/MemorySource.h"

using namespace transom;
using namespace transom::test;

TEST(WeightShapes, are_checked) {
  Random random(2);
  MemorySource source;
  source.add("a", {2, 3}, random);
  source.add("b", {3, 2}, random);
  auto error = [&](const std::string &text) {
    Result<Shape> shape = expr(text).shape(source);
    return shape ? "shape " + shapeText(*shape) : shape.error().message;
  };
  // Expressions with a shape.
  EXPECT_EQ(error("concat(0, file(\"a\"), slice(file(\"a\"), 0, 0, 1))"),
            "shape [3, 3]");
  EXPECT_EQ(error("add(file(\"a\"), fill([3], 1))"), "shape [2, 3]");
  EXPECT_EQ(error("matmul(file(\"a\"), file(\"b\"))"), "shape [2, 2]");
  EXPECT_EQ(error("with_norms(file(\"a\"), fill([2], 1))"), "shape [2, 3]");
  EXPECT_EQ(error("layer_norm(file(\"a\"), fill([3], 1), fill([3], 0), 0)"),
            "shape [2, 3]");
  EXPECT_EQ(error("triangle([2, 3, 4], -1, 1, 0)"), "shape [2, 3, 4]");
  // Errors name the expression.
  EXPECT_EQ(error("triangle([], 0, 1, 0)"),
            "weight expression 'triangle([], 0, 1.0, 0.0)': shape [] has no "
            "diagonal");
  EXPECT_EQ(error("add(file(\"a\"), file(\"b\"))"),
            "weight expression 'add(file(\"a\"), file(\"b\"))': shapes [2, 3] "
            "and [3, 2] differ");
  for (const char *text :
       {"file(\"c\")",
        "transpose(file(\"a\"), [0, 0])",
        "transpose(file(\"a\"), [0])",
        "slice(file(\"a\"), 2, 0, 1)",
        "slice(file(\"a\"), 0, 1, 2)",
        "slice(file(\"a\"), 0, -1, 1)",
        "slice(file(\"a\"), 0, 1, 9223372036854775807)",
        "pad(file(\"a\"), 1, 2)",
        "pad(file(\"a\"), -1, 9)",
        "reshape(file(\"a\"), [7])",
        "reshape(file(\"a\"), [-2, -3])",
        "concat(0, file(\"a\"), file(\"b\"))",
        "concat(2, file(\"a\"))",
        "fill([-1], 0)",
        "fill([4294967296, 4294967296], 0)",
        "values([2], [1])",
        "sinusoid(-1, 2, 0)",
        "sinusoid(2, 3, 2)",
        "triangle([3], 0, 1, 0)",
        "triangle([-1, 3], 0, 1, 0)",
        "interleave(2, file(\"a\"), file(\"b\"))",
        "interleave(4, file(\"a\"), file(\"a\"))",
        "interleave(0, file(\"a\"))",
        "interleave(-1, file(\"a\"))",
        "interleave(1, fill([], 1))",
        "interleave(1, fill([9223372036854775807, 0], 1), "
        "fill([9223372036854775807, 0], 1))",
        "angles(0, 1, [1])",
        "angles(-9223372036854775808, 1, [1])",
        "angles(8, inf, [1])",
        "angles(8, 1, [nan])",
        "angles(8, 1, [])",
        "add(fill([2], 1), file(\"a\"))",
        "add(file(\"a\"), fill([2], 1))",
        "matmul(file(\"a\"), file(\"a\"))",
        "matmul(file(\"a\"), fill([3], 1))",
        "matmul(fill([4294967296, 0], 1), "
        "fill([0, 4294967296], 1))",
        "layer_norm(fill([], 1), fill([], 1), fill([], 1), 0)",
        "layer_norm(file(\"a\"), fill([2], 1), fill([3], 1), 0)",
        "layer_norm(file(\"a\"), fill([3], 1), fill([2], 1), 0)",
        "layer_norm(file(\"a\"), fill([3], 1), fill([3], 1), -1)",
        "layer_norm(file(\"a\"), fill([3], 1), fill([3], 1), nan)",
        "with_norms(file(\"a\"), fill([3], 1))",
        "with_norms(fill([2, 1, 1], 1), fill([2], 1))",
        "with_norms(file(\"a\"), fill([2, 1], 1))"})
    EXPECT_NE(error(text).substr(0, 5), "shape") << text;
  // Overflow, and blocks outside the shape.
  std::string frequencies = "1";
  for (int i = 0; i < 128; ++i)
    frequencies += ", 1";
  EXPECT_NE(error("angles(9223372036854775807, 1, [" + frequencies + "])")
                .find("does not fit 64 bits"),
            std::string::npos);
  float out;
  EXPECT_FALSE(expr("file(\"a\")").evaluate(source, {0, 3}, {1, 1}, &out));
  EXPECT_FALSE(expr("file(\"a\")").evaluate(source, {0}, {1}, &out));
  EXPECT_FALSE(expr("file(\"c\")").evaluate(source, {0}, {1}, &out));
}
