// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module with smaller widths has the same operations; sizes, ranges, indices
// and literal tables match.
#include "compiler/verify/ShrinkModule.h"
#include "compiler/verify/ShrinkWeights.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

/// Fused query, key and value rows with 8 and 2 heads of width 128, whose
/// columns have another order in the file; a rope over half a head; a position
/// table.
constexpr const char *attention = R"(
module attributes {attn.symbols = {batch = {max = -1 : i64}, seq = {max = 512 : i64}}} {
  attn.weight @qkv : [1536, 1024] f32 = #weight.expr<transpose(gather(transpose(file("qkv"), [1, 0]), [PERMUTATION]), [1, 0])>
  attn.weight @table : [512, 1024] f32 = #weight.expr<slice(file("table"), 0, 2, 512)>
  attn.weight @slopes : [8] f32 = #weight.expr<values([8], [0.5, 0.25, 0.125, 0.0625, 0.03, 0.015, 0.007, 0.003])>
  func.func @run(%ids: tensor<?x?xi64, #attn.shape<[batch, seq]>> {attn.bound = 512 : i64}) -> (tensor<*xf32>) {
    %t = attn.get_weight @table : [512, 1024] f32
    %x = attn.embedding %ids, %t : [batch, seq] i64, [512, 1024] f32
    %w = attn.get_weight @qkv : [1536, 1024] f32
    %f = attn.linear %x, %w : [batch, seq, 1024] f32, [1536, 1024] f32
    %q = attn.slice %f axis 2 from 0 size 1024 : [batch, seq, 1536] f32
    %k = attn.slice %f axis 2 from 1024 size 256 : [batch, seq, 1536] f32
    %v = attn.slice %f axis 2 from 1280 size 256 : [batch, seq, 1536] f32
    %p = attn.position <column> %ids : [batch, seq] i64
    %r = attn.rope_table %p {frequencies = array<f64: FREQUENCIES>, limit = 512 : i64} : [batch, seq] i64
    %qr = attn.rope %q, %r heads 8 : [batch, seq, 1024] f32, [batch, seq, 64] f32
    %kr = attn.rope %k, %r heads 2 : [batch, seq, 256] f32, [batch, seq, 64] f32
    %s = attn.get_weight @slopes : [8] f32
    %y = attn.sdpa %qr, %kr, %v slopes(%s : [8] f32) heads 8 kv_heads 2 scale 0.125 <none> {causal} : [batch, seq, 1024] f32, [batch, seq, 256] f32, [batch, seq, 256] f32
    %z = attn.reshape %y to <[batch, seq, 8, 128]> : [batch, seq, 1024] f32
    return %z : tensor<?x?x8x128xf32, #attn.shape<[batch, seq, 8, 128]>>
  }
}
)";

std::string replace(std::string text, const std::string &from,
                    const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}

class ShrinkModule : public ::testing::Test {
protected:
  ShrinkModule() {
    context.loadDialect<attn::AttnDialect, func::FuncDialect>();
    context.getDiagEngine().registerHandler(
        [](Diagnostic &) { return success(); });
    std::string permutation, frequencies;
    for (int i = 0; i < 1024; ++i)
      permutation += (i ? ", " : "") + std::to_string(1023 - i);
    for (int i = 1; i <= 32; ++i)
      frequencies += (i > 1 ? ", " : "") + std::to_string(1.0 / i);
    std::string text = replace(attention, "PERMUTATION", permutation);
    text = replace(text, "FREQUENCIES", frequencies);
    text = replace(text, "tensor<*xf32>",
                   "tensor<?x?x8x128xf32, #attn.shape<[batch, seq, 8, 128]>>");
    module = parseSourceString<ModuleOp>(text, &context);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  TensorShapes::Map shapes = {{"qkv", {1536, 1024}}, {"table", {514, 1024}}};
};

TEST_F(ShrinkModule, SizesFitEachOther) {
  ASSERT_TRUE(module);
  Result<ShrunkModel> shrunk = shrinkModule(*module, shapes, {}, {});
  ASSERT_TRUE(shrunk) << shrunk.error().message;
  const SizeMap &sizes = shrunk->sizes;
  EXPECT_EQ(sizes.get(8), 8); // four query heads for each of 2
  EXPECT_EQ(sizes.get(64), 32);
  EXPECT_EQ(sizes.get(128), 64);
  EXPECT_EQ(sizes.get(1024), 8 * 64);
  EXPECT_EQ(sizes.get(1536), 8 * 64 + 2 * 2 * 64);
  EXPECT_EQ(sizes.get(514), 2 + sizes.get(512));
  EXPECT_EQ(shrunk->shapes.at("table"),
            (std::vector<int64_t>{sizes.get(514), 512}));
  std::vector<int64_t> starts;
  shrunk->module->walk([&](attn::SliceOp slice) {
    starts.push_back(static_cast<int64_t>(slice.getStart()));
  });
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 512, 512 + 128}));
  shrunk->module->walk([&](attn::WeightOp weight) {
    Result<std::vector<int64_t>> shape =
        weight.getExpr().getExpr().shape(TensorShapes(shrunk->shapes));
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(ArrayRef<int64_t>(*shape),
              cast<RankedTensorType>(weight.getType()).getShape());
  });
}

// The position of column i in the smaller matrix also reverses the order.
TEST_F(ShrinkModule, PermutationsKeepTheirOrder) {
  SizeMap sizes;
  sizes.sizes = {{6, 3}};
  EXPECT_EQ(shrinkIndices(sizes, {5, 4, 3, 2, 1, 0}, 6),
            (std::vector<int64_t>{2, 1, 0}));
  // Repeats stay repeats.
  EXPECT_EQ(shrinkIndices(sizes, {0, 0, 1, 1, 2, 2}, 6),
            (std::vector<int64_t>{0, 0, 1}));
  EXPECT_EQ(shrinkIndices(sizes, {5, 5, 4, 4, 3, 3}, 6),
            (std::vector<int64_t>{2, 2, 1}));
}

TEST_F(ShrinkModule, FirstElementsOfLiteralsStay) {
  SizeMap sizes;
  sizes.sizes = {{3, 2}};
  EXPECT_EQ(getKeptElements(sizes, {3, 3}), (std::vector<int64_t>{0, 1, 3, 4}));
  const WeightExpr triangle = *WeightExpr::parse("triangle([3, 3], 0, 1, 0)");
  Result<WeightExpr> fewer =
      shrinkExpression(sizes, triangle, TensorShapes(shapes));
  ASSERT_TRUE(fewer) << fewer.error().message;
  EXPECT_EQ(fewer->str(), "triangle([2, 2], 0, 1.0, 0.0)");
}

TEST_F(ShrinkModule, RefusesWhatHasNoSmallerSizes) {
  auto small = parseSourceString<ModuleOp>(
      "func.func @run(%x: tensor<3x16xf32>) -> tensor<3x16xf32> {\n"
      "  return %x : tensor<3x16xf32>\n}",
      &context);
  Result<ShrunkModel> shrunk = shrinkModule(*small, {}, {}, {});
  ASSERT_FALSE(shrunk);
  EXPECT_EQ(shrunk.error().status, Status::Unsupported);
}

} // namespace
