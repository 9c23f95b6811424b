// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules with other sizes have the same structure; another operation, operand
// or attribute is a difference.
#include "compiler/verify/SameStructure.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

class SameStructure : public ::testing::Test {
protected:
  /// A feed-forward network with this width.
  std::string print(int width, const char *activation = "gelu",
                    const char *more = "") {
    context.loadDialect<attn::AttnDialect, func::FuncDialect>();
    const std::string w = std::to_string(width);
    const std::string text =
        "module attributes {attn.symbols = {rows = {max = " + w +
        " : i64}}} {\n  attn.weight @up : [" + w +
        ", 4] f32 = "
        "#weight.expr<file(\"layer.0.up\")>\n"
        "  func.func @run(%x: tensor<3x4xf32>) -> tensor<3x" +
        w +
        "xf32> {\n"
        "    %w = attn.get_weight @up : [" +
        w +
        ", 4] f32\n"
        "    %y = attn.linear %x, %w : [3, 4] f32, [" +
        w + ", 4] f32\n" + more + "    %z = attn.activation <" + activation +
        "> %y : [3, " + w + "] f32\n    return %z : tensor<3x" + w +
        "xf32>\n  }\n}\n";
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module ? printStructure(*module) : "";
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(SameStructure, OtherSizesAreTheSame) {
  EXPECT_EQ(findStructureDifference(print(768), print(32)), "");
}

TEST_F(SameStructure, AnotherAttributeIsNamed) {
  const std::string difference =
      findStructureDifference(print(768), print(32, "silu"));
  EXPECT_NE(difference.find("gelu"), std::string::npos) << difference;
  EXPECT_NE(difference.find("silu"), std::string::npos) << difference;
}

TEST_F(SameStructure, AnotherOperationIsNamed) {
  const std::string difference = findStructureDifference(
      print(768), print(32, "gelu",
                        "    %v = attn.add %y, %y : [3, 32] f32, "
                        "[3, 32] f32\n"));
  EXPECT_NE(difference.find("attn.add"), std::string::npos) << difference;
}

} // namespace
