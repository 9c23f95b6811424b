// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each activation's operations return its value in the reference evaluator.
#include "compiler/import/huggingface/sentence_transformers/TorchActivations.h"
#include "test/compiler/import/Numbers.h"

using namespace mlir;
using namespace transom;
using namespace transom::testing;

TEST(TorchActivations, operations_have_the_values_of_the_table) {
  const std::vector<double> inputs = {-90,   -7,  -3.1, -1,  -0.51, -0.3,
                                      -1e-3, 0,   0.1,  0.4, 0.5,   0.51,
                                      1,     2.5, 3.2,  6.5, 7,     90};
  const auto width = int64_t(inputs.size());
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  ImportInfo info;
  const ModelFiles files;
  Emitter emit(context, files, "modules.json");
  const std::vector<std::string> names = getTorchActivationNames();
  emit.at("run", "/0");
  Value x = emit.beginEntry("run", {{"x",
                                     DType::F32,
                                     {Polynomial::symbol("batch"), width},
                                     "data",
                                     {},
                                     {}}})[0];
  std::vector<EntryOutput> outputs;
  for (const std::string &name : names)
    outputs.push_back(
        {name, emitTorchActivation(emit, *parseTorchActivation(name), x)});
  emit.endEntry(outputs);
  emit.finish(info, {{"batch", -1}}, {});
  Result<OwningOpRef<ModuleOp>> module = emit.take();
  ASSERT_TRUE(module) << module.error().message;

  Result<std::vector<NamedTensor>> results =
      evaluate(**module, "run", {{"x", Tensor::of({1, width}, inputs)}});
  ASSERT_TRUE(results) << results.error().message;
  for (const std::string &name : names) {
    std::vector<double> values;
    for (const double input : inputs)
      values.push_back(
          applyTorchActivation(*parseTorchActivation(name), input));
    expectNear({name, Tensor::of({1, width}, values)}, *results, 1e-12);
  }
}
