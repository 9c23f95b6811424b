// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions that gather entries, and replaced file tensors.
#include "test/dialects/weights/MemorySource.h"

using namespace transom;
using namespace transom::test;

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
