// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries, inputs, symbols, weights and layers in the reference evaluator.
#include "compiler/evaluator/Evaluator.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

/// A parsed module and its context.
struct Model {
  explicit Model(StringRef text) {
    context.loadDialect<attn::AttnDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// One file tensor `w` with shape [2, 2].
struct OneTensor : TensorSource {
  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    if (name != "w")
      return rejected("no tensor '" + name + "'");
    return std::vector<int64_t>{2, 2};
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    const float values[2][2] = {{1, 2}, {3, 4}};
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        *out++ = values[offsets[0] + i][offsets[1] + j];
    return {};
  }
};

constexpr const char *layers = R"mlir(
attn.weight @w : [2, 2] f32 = #weight.expr<file("w")>
attn.weight @v : [2, 2] f32 = #weight.expr<transpose(file("w"), [1, 0])>
func.func private @layer(%x: tensor<?x2xf32, #attn.shape<[n, 2]>>,
                         %w: tensor<2x2xf32>)
    -> tensor<?x2xf32, #attn.shape<[n, 2]>> {
  %y = attn.linear %x, %w : [n, 2] f32, [2, 2] f32
  return %y : tensor<?x2xf32, #attn.shape<[n, 2]>>
}
func.func @run(%x: tensor<?x2xf32, #attn.shape<[n, 2]>> {attn.name = "x"})
    -> (tensor<?x2xf32, #attn.shape<[n, 2]>> {attn.name = "y"}) {
  %y = attn.layers %x [@layer(@w), @layer(@v)] : [n, 2] f32
  return %y : tensor<?x2xf32, #attn.shape<[n, 2]>>
}
)mlir";

constexpr const char *masked = R"mlir(
func.func @run(
    %x: tensor<?x?xf32, #attn.shape<[batch, seq]>> {attn.name = "x"},
    %m: tensor<?x?xi64, #attn.shape<[batch, seq]>>
        {attn.name = "m", attn.default = 1 : i64})
    -> (tensor<?x?xf32, #attn.shape<[batch, seq]>> {attn.name = "y"}) {
  %c = attn.cast %m to f32 : [batch, seq] i64
  %y = attn.mul %x, %c : [batch, seq] f32
  return %y : tensor<?x?xf32, #attn.shape<[batch, seq]>>
}
)mlir";

Tensor floats(ArrayRef<int64_t> sizes, std::vector<double> values) {
  return Tensor::of(sizes, std::move(values));
}

/// Returns the message from a run that must fail.
std::string getFailure(const Model &model, ArrayRef<NamedTensor> inputs,
                       StringRef entry = "run") {
  auto result = evaluate(*model.module, entry, inputs);
  EXPECT_FALSE(result);
  return result ? "" : result.error().message;
}

TEST(Evaluator, runsLayersInOrderWithTheirWeights) {
  Model model(layers);
  ASSERT_TRUE(model.module);
  OneTensor files;
  EvaluateOptions options;
  options.source = &files;
  auto result =
      evaluate(*model.module, "run", {{"x", floats({1, 2}, {10, 1})}}, options);
  ASSERT_TRUE(result) << result.error().message;
  // [10 1] [1 2; 3 4]^T = [12 34], then [12 34] [1 2; 3 4] = [114 160].
  EXPECT_EQ((*result)[0].name, "y");
  EXPECT_EQ((*result)[0].tensor.getReals(), (std::vector<double>{114, 160}));
}

TEST(Evaluator, namesTheMissingFileTensorAndThePlace) {
  Model model(layers);
  EXPECT_EQ(getFailure(model, {{"x", floats({1, 2}, {10, 1})}}),
            "'attn.layers': no file holds tensor 'w'");
}

TEST(Evaluator, fillsInputsThatAreLeftOut) {
  Model model(masked);
  auto result = evaluate(*model.module, "run", {{"x", floats({1, 2}, {5, 6})}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)[0].tensor.getReals(), (std::vector<double>{5, 6}));
}

TEST(Evaluator, refusesInputsThatDoNotFit) {
  Model model(masked);
  Tensor x = floats({1, 2}, {5, 6});
  Tensor m = Tensor::of({1, 3}, std::vector<int64_t>{1, 1, 1});
  EXPECT_EQ(getFailure(model, {{"x", x}, {"m", m}}),
            "size 'seq' is both 2 and 3");
  EXPECT_EQ(getFailure(model, {{"x", m}}),
            "input 'x' has the wrong element type");
  EXPECT_EQ(getFailure(model, {{"z", x}}), "entry 'run' has no input 'z'");
  EXPECT_EQ(getFailure(model, {}), "input 'x' is missing");
  EXPECT_EQ(getFailure(model, {{"x", floats({2}, {5, 6})}}),
            "input 'x' has rank 1, expected 2");
  EXPECT_EQ(getFailure(model, {{"x", x}}, "walk"), "no entry 'walk'");
}

TEST(Evaluator, showsEveryResultToTheObserver) {
  Model model(masked);
  std::vector<std::string> seen;
  EvaluateOptions options;
  options.observe = [&](Operation *op, ArrayRef<Number>) {
    seen.push_back(op->getName().getStringRef().str());
  };
  ASSERT_TRUE(
      evaluate(*model.module, "run", {{"x", floats({1, 1}, {5})}}, options));
  EXPECT_EQ(seen, (std::vector<std::string>{"attn.cast", "attn.mul"}));
}

} // namespace
