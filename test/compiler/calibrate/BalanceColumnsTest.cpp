// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scaled models compute the same bits in float64, since factors are powers of
// two. Norms with other readers are not changed.
#include "compiler/calibrate/BalanceColumns.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/evaluator/Evaluator.h"
#include "compiler/import/Import.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

/// An imported model, and the importance for some columns in all its tensors.
struct BalancedModel {
  explicit BalancedModel(const std::string &name) {
    prepareContext(context);
    ImportOptions options;
    options.path = std::string(std::getenv("TRANSOM_SOURCE_DIR")) + name;
    auto imported = importModel(context, options, info);
    EXPECT_TRUE(bool(imported)) << imported.error().message;
    module = std::move(*imported);
    for (const auto &[tensor, shape] : info.tensorShapes) {
      if (shape.size() != 2)
        continue;
      // GPT-2 stores [in, out].
      const bool isTransposed = tensor.find(".c_") != std::string::npos;
      std::vector<float> squares(shape[isTransposed ? 0 : 1], 1);
      squares[3] = 900;
      squares[5] = 1e-4f;
      importance.set(tensor, squares);
    }
    columns = balanceColumns(*module, importance);
  }

  /// The logits for a step.
  std::vector<Number> run(const TensorSource &source) {
    EvaluateOptions options;
    options.source = &source;
    const std::vector<int64_t> ids = {5, 17, 100, 42, 17};
    auto step = getStepEntry(*module);
    std::string rows;
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto role = step.getArgAttrOfType<StringAttr>(i, "attn.role");
      auto name = step.getArgAttrOfType<StringAttr>(i, "attn.name");
      if (name && role && role.getValue() != "ids")
        rows = name.str();
    }
    auto outputs =
        evaluate(*module, step.getSymName(),
                 {{"tokens", Tensor::of({5}, ids)},
                  {rows, Tensor::of({5}, std::vector<int64_t>{0, 1, 2, 3, 4})}},
                 options);
    EXPECT_TRUE(bool(outputs)) << outputs.error().message;
    return outputs->front().tensor.real;
  }

  MLIRContext context;
  ImportInfo info;
  OwningOpRef<ModuleOp> module;
  Importance importance;
  BalancedColumns columns;
};

void expectSameBits(BalancedModel &model) {
  const BalancedTensors tensors(model.info.files, model.columns);
  const std::vector<Number> before = model.run(model.info.files),
                            after = model.run(tensors);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i != before.size(); ++i)
    ASSERT_EQ(before[i].real(), after[i].real()) << i;
}

} // namespace

TEST(BalanceColumns, RmsNormsOfALlama) {
  BalancedModel model("/test/goldens/llama-gqa");
  const std::string layer = "model.layers.1.";
  for (const char *name :
       {"input_layernorm", "post_attention_layernorm", "self_attn.q_proj",
        "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"})
    ASSERT_TRUE(model.columns.count(layer + name + ".weight")) << name;
  EXPECT_TRUE(model.columns.count("model.norm.weight"));
  EXPECT_TRUE(model.columns.count("lm_head.weight"));
  EXPECT_FALSE(model.columns.count(layer + "self_attn.o_proj.weight"));
  EXPECT_FALSE(model.columns.count(layer + "mlp.down_proj.weight"));
  // 900 is log2 9.8, a quarter of it 2.5; the mean is near 0.
  const ColumnFactors &norm = model.columns[layer + "input_layernorm.weight"],
                      &matrix =
                          model.columns[layer + "self_attn.q_proj.weight"];
  EXPECT_EQ(matrix.axis, 1u);
  EXPECT_EQ(matrix.factors[3], 4);
  EXPECT_EQ(norm.factors[3], 0.25f);
  EXPECT_EQ(matrix.factors[0], 1);
  EXPECT_EQ(matrix.factors[5], 0.125f);
  const float *squares = model.importance.find(
      {layer + "self_attn.q_proj.weight"}, int64_t(matrix.factors.size()));
  EXPECT_EQ(squares[3], 900.0f / 16);
  expectSameBits(model);
}

TEST(BalanceColumns, LayerNormsAndTransposedRangesOfGpt2) {
  BalancedModel model("/test/goldens/gpt2");
  for (const char *name : {"ln_1.weight", "ln_1.bias", "attn.c_attn.weight",
                           "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight"})
    EXPECT_TRUE(model.columns.count(std::string("transformer.h.0.") + name))
        << name;
  EXPECT_EQ(model.columns["transformer.h.0.attn.c_attn.weight"].axis, 0u);
  // The head's weight is also the embedding table.
  EXPECT_FALSE(model.columns.count("transformer.wte.weight"));
  EXPECT_FALSE(model.columns.count("transformer.ln_f.weight"));
  expectSameBits(model);
}

TEST(BalanceColumns, NormsThatOthersReadAreLeftAlone) {
  // After a post-norm there is a residual; Gemma's gammas are 1 + w.
  EXPECT_TRUE(BalancedModel("/test/goldens/bert").columns.empty());
  EXPECT_TRUE(BalancedModel("/test/goldens/gemma2").columns.empty());
}
