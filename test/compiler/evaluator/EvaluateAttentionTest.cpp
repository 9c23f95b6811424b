// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with masks, windows and head groups.
#include "compiler/evaluator/Evaluator.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "test/compiler/evaluator/OperationCases.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

TEST(EvaluateAttention, computes_what_torch_computes) {
  runOperationCases(OperationGroup::Attention);
}

/// Values without a pattern.
static Tensor makeNumbers(Sizes sizes, double seed) {
  Tensor tensor = Tensor::floats(std::move(sizes));
  for (size_t i = 0; i < tensor.real.size(); ++i)
    tensor.real[i] = std::sin(seed + 1.7 * double(i));
  return tensor;
}

TEST(EvaluateAttention, queries_of_a_batch_see_ragged_keys) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"mlir(
func.func @run(%q: tensor<2x3x8xf32> {attn.name = "q"}, %k: tensor<2x4x4xf32> {attn.name = "k"},
               %m: tensor<2x4xi1> {attn.name = "m"})
    -> (tensor<2x3x8xf32> {attn.name = "ragged"}, tensor<2x3x8xf32> {attn.name = "masked"}) {
  %s = attn.ragged_batch %m : [2, 4] i1 -> <rows, keys>
  %r = attn.gather_rows %k, %s : [2, 4, 4] f32, <rows, keys>
  %a = attn.sdpa %q, %r, %r ragged(%s : <rows, keys>) heads 2 kv_heads 1 scale 0.5 <ragged> {soft_cap = 2.0 : f64}
      : [2, 3, 8] f32, [rows, 4] f32, [rows, 4] f32
  %b = attn.sdpa %q, %k, %k mask(%m : [2, 4] i1) heads 2 kv_heads 1 scale 0.5 <keys> {soft_cap = 2.0 : f64}
      : [2, 3, 8] f32, [2, 4, 4] f32, [2, 4, 4] f32
  return %a, %b : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}
)mlir",
                                            &context);
  ASSERT_TRUE(module);
  // Padding between the tokens in the first sequence, on the left in the other.
  const std::vector<int64_t> mask = {1, 0, 1, 1, 0, 1, 1, 1};
  auto result = evaluate(*module, "run",
                         {{"q", makeNumbers({2, 3, 8}, 0)},
                          {"k", makeNumbers({2, 4, 4}, 0.5)},
                          {"m", Tensor::of({2, 4}, mask)}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].tensor.getReals(), (*result)[1].tensor.getReals());
}
