// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator's golden cases, by the source that computes them.
#include "test/compiler/evaluator/OperationCases.h"
#include "compiler/evaluator/Evaluator.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/json/Json.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

double getNumber(JsonValue value) {
  if (value.isString())
    return *value.asString() == "-inf" ? -INFINITY : INFINITY;
  return *value.asDouble();
}

Tensor makeTensor(JsonValue value) {
  std::vector<int64_t> sizes = *value.get("shape")->asIntArray(0, 1 << 20);
  if (*value.get("dtype")->asString() == "f32") {
    std::vector<double> elements;
    for (JsonValue element : value.get("values")->elements())
      elements.push_back(getNumber(element));
    return Tensor::of(sizes, std::move(elements));
  }
  return Tensor::of(sizes,
                    *value.get("values")->asIntArray(INT64_MIN, INT64_MAX));
}

void expectEqual(const Tensor &got, const Tensor &expected) {
  ASSERT_EQ(got.sizes, expected.sizes);
  ASSERT_EQ(got.isFloat, expected.isFloat);
  EXPECT_EQ(got.whole, expected.whole);
  for (size_t i = 0; i < expected.real.size(); ++i)
    if (got.getReal(i) != expected.getReal(i)) // infinities are equal only
      EXPECT_NEAR(got.getReal(i), expected.getReal(i),
                  1e-13 * (1 + std::abs(expected.getReal(i))))
          << "element " << i;
}

void runCase(JsonValue test) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  std::string text(*test.get("module")->asString());
  auto module = parseSourceString<ModuleOp>(StringRef(text.data(), text.size()),
                                            &context);
  ASSERT_TRUE(module);
  std::vector<NamedTensor> inputs;
  for (JsonValue input : test.get("inputs")->elements())
    inputs.push_back(
        {std::string(*input.get("name")->asString()), makeTensor(input)});
  auto result = evaluate(*module, "run", inputs);
  ASSERT_TRUE(result) << result.error().message;
  expectEqual((*result)[0].tensor, makeTensor(*test.get("result")));
}

/// Case name prefixes by group. All other cases are elementwise.
const std::map<OperationGroup, std::vector<std::string>> groups = {
    {OperationGroup::Attention, {"sdpa"}},
    {OperationGroup::Products,
     {"matmul", "linear", "layer_norm", "rms_norm", "softmax", "row_summary"}},
    {OperationGroup::Ragged, {"ragged", "position", "pool", "neighbors"}},
    {OperationGroup::Shapes,
     {"transpose", "reshape", "slice", "concat", "gather", "embedding",
      "symbols"}}};

OperationGroup getGroup(const std::string &name) {
  for (const auto &[group, words] : groups)
    for (const std::string &word : words)
      if (name.rfind(word, 0) == 0)
        return group;
  return OperationGroup::Elementwise;
}

} // namespace

void transom::testing::runOperationCases(OperationGroup group) {
  const char *source = std::getenv("TRANSOM_SOURCE_DIR");
  ASSERT_TRUE(source) << "run by ctest";
  auto file =
      parseJsonFile(std::string(source) + "/test/goldens/evaluator/cases.json");
  ASSERT_TRUE(file) << file.error().message;
  size_t count = 0;
  for (JsonValue test : file->root().get("cases")->elements()) {
    const std::string name(*test.get("name")->asString());
    if (getGroup(name) != group)
      continue;
    SCOPED_TRACE(name);
    runCase(test);
    ++count;
  }
  EXPECT_GT(count, 6u);
}
