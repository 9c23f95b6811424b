// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Golden translators' logits for selected tokens: columns of all logits, in
// float64. Other steps do not change.
#include "compiler/import/ListedLogits.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/import/Import.h"
#include "compiler/verify/VerifyCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

struct ImportedModel {
  explicit ImportedModel(const std::string &name) {
    prepareContext(context);
    ImportOptions options;
    options.path = std::string(std::getenv("TRANSOM_SOURCE_DIR")) +
                   "/test/goldens/" + name;
    auto imported = importModel(context, options, info);
    EXPECT_TRUE(bool(imported)) << imported.error().message;
    module = std::move(*imported);
  }
  MLIRContext context;
  ImportInfo info;
  OwningOpRef<ModuleOp> module;
};

const Tensor *find(const std::vector<NamedTensor> &tensors,
                   const std::string &name) {
  for (const NamedTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor.tensor;
  return nullptr;
}

} // namespace

TEST(ListedLogits, are_columns_of_all_logits) {
  for (const char *name :
       {"encoder-decoders/marian", "encoder-decoders/t5", "llama-gqa"}) {
    SCOPED_TRACE(name);
    // Add the entry and draw calls.
    ImportedModel model(name);
    ASSERT_EQ(addListedLogits(*model.module), "");
    ASSERT_TRUE(succeeded(verify(*model.module)));
    auto cases = makeCalls(*model.module, CallLengths::Short);
    ASSERT_TRUE(bool(cases)) << cases.error().message;
    // In each step the selected logits equal the columns of all logits.
    int64_t numSteps = 0;
    for (const VerifyCase &test : *cases) {
      CacheStore caches;
      for (const VerifyCall &call : test) {
        EvaluateOptions options;
        options.source = &model.info.files;
        options.caches = &caches;
        options.sequences = call.sequences;
        auto results =
            evaluate(*model.module, call.entry, call.inputs, options);
        ASSERT_TRUE(bool(results)) << results.error().message;
        const Tensor *columns = find(call.inputs, "columns");
        if (!columns)
          continue;
        ++numSteps;
        const Tensor *logits = find(*results, "logits"),
                     *listed = find(*results, "listed_logits");
        ASSERT_TRUE(logits && listed);
        const int64_t rows = logits->sizes[0], count = columns->sizes[0];
        ASSERT_EQ(listed->count(), rows * count);
        for (int64_t i = 0; i < rows * count; ++i)
          EXPECT_EQ(listed->getReal(i),
                    logits->getReal(i / count * logits->sizes[1] +
                                    columns->whole[i % count]));
      }
    }
    EXPECT_GT(numSteps, 1);
  }
}

TEST(ListedLogits, steps_whose_logits_are_not_a_product_stay) {
  // Soft-capped logits, hidden states, and no step.
  for (const char *name : {"gemma2", "llama-bare", "bert"}) {
    ImportedModel model(name);
    EXPECT_EQ(addListedLogits(*model.module),
              "translations multiply the whole output head: the logits of the "
              "step are not the result of one product with a weight")
        << name;
    for (auto entry : model.module->getOps<func::FuncOp>())
      for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
        auto name = entry.getArgAttrOfType<StringAttr>(i, "attn.name");
        EXPECT_FALSE(name && name == "columns");
      }
  }
}
