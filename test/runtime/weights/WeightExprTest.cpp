// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes of weight expressions.
#include "test/runtime/weights/MemorySource.h"

using namespace transom;
using namespace transom::test;

TEST(WeightExpr, shapes_are_checked) {
  Random random(2);
  MemorySource source;
  source.add("a", {2, 3}, random);
  source.add("b", {3, 2}, random);
  auto error = [&](const std::string &text) {
    Result<Shape> shape = expr(text).shape(source);
    return shape ? "shape " + shapeText(*shape) : shape.error().message;
  };
  EXPECT_EQ(error("concat(0, file(\"a\"), slice(file(\"a\"), 0, 0, 1))"),
            "shape [3, 3]");
  EXPECT_EQ(error("add(file(\"a\"), fill([3], 1))"), "shape [2, 3]");
  EXPECT_EQ(error("matmul(file(\"a\"), file(\"b\"))"), "shape [2, 2]");
  EXPECT_EQ(error("layer_norm(file(\"a\"), fill([3], 1), fill([3], 0), 0)"),
            "shape [2, 3]");
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
        "layer_norm(file(\"a\"), fill([3], 1), fill([3], 1), nan)"})
    EXPECT_NE(error(text).substr(0, 5), "shape") << text;
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

TEST(WeightExpr, GathersEntries) {
  Random random(5);
  MemorySource source;
  source.add("t", {3, 2}, random);
  const std::vector<float> &t = source.tensors["t"].data;
  WeightExpr gathered = *WeightExpr::parse("gather(file(\"t\"), [2, 0, 2, 1])");
  EXPECT_EQ(gathered.str(), "gather(file(\"t\"), [2, 0, 2, 1])");
  EXPECT_EQ(*gathered.shape(source), (Shape{4, 2}));
  float out[6];
  ASSERT_TRUE(gathered.evaluate(source, {1, 0}, {3, 2}, out));
  EXPECT_EQ(std::vector<float>(out, out + 6),
            (std::vector<float>{t[0], t[1], t[4], t[5], t[2], t[3]}));
  for (const char *text :
       {"gather(file(\"t\"), [3])", "gather(file(\"t\"), [-1])",
        "gather(values([], [1]), [0])"})
    EXPECT_FALSE(WeightExpr::parse(text)->shape(source)) << text;
}

TEST(WeightExpr, ReplacesFiles) {
  const WeightExpr e = expr("concat(0, file(\"a\"), scale(file(\"b\"), 2.0))");
  const WeightExpr replaced = e.replaceFiles([](const std::string &name) {
    return name == "b" ? std::optional(WeightExpr::transpose(
                             WeightExpr::file("c"), {1, 0}))
                       : std::nullopt;
  });
  EXPECT_EQ(replaced.str(), "concat(0, file(\"a\"), scale(transpose(file(\"c\")"
                            ", [1, 0]), 2.0))");
  EXPECT_EQ(e.files(), (std::vector<std::string>{"a", "b"})) << "unchanged";
}
