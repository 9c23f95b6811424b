// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal neighbours are one entry. Parameters for model families are in
// test/tools/commands/inspect/test_inspect_model.py.
#include "compiler/statistics/ModelParameters.h"
#include "compiler/statistics/ModelFormulas.h"
#include "dialects/attn/Attn.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

TEST(ModelParameters, layersWithEqualParametersAreOneEntry) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  std::string text;
  ImportInfo info;
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "h." + std::to_string(layer) + ".w";
    const int64_t size = layer < 3 ? 8 : 4;
    text += "attn.weight @" + name + " : [" + std::to_string(size) +
            "] f32 = #weight.expr<file(\"" + name + "\")>\n";
    info.tensorShapes[name] = {size};
  }
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  const ParameterReport report =
      reportParameters(*module, info, ModelComponents(*module));
  ASSERT_EQ(report.layers.size(), 2u);
  EXPECT_EQ(report.layers[0].stack, "h");
  EXPECT_EQ(report.layers[0].last, 2);
  EXPECT_EQ(report.layers[1].first, 3);
  EXPECT_EQ(countParameters(report.components), 28u);
}

} // namespace
