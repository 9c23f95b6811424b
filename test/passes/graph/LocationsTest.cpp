// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the module after every pass in the table: no operation may have an
// unknown location, and each remark has one.
#include "compiler/import/Import.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "dialects/common/Location.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Remarks.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mlir;
using namespace transom;

namespace {

/// Collects operations without a location.
class PlaceCheck : public PassInstrumentation {
public:
  PlaceCheck(std::vector<std::string> &missing, int &passes)
      : missing(missing), passes(passes) {}

  void runAfterPass(Pass *pass, Operation *root) override {
    ++passes;
    root->walk([&](Operation *op) {
      if (!hasModulePath(op->getLoc()))
        missing.push_back(pass->getArgument().str() + ": " +
                          op->getName().getStringRef().str());
    });
  }

private:
  std::vector<std::string> &missing;
  int &passes;
};

class Locations
    : public testing::TestWithParam<std::tuple<const char *, Backend>> {};

TEST_P(Locations, areKnownAfterEachPass) {
  const char *source = std::getenv("TRANSOM_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  DialectRegistry registry;
  registerTransomDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ImportInfo info;
  ImportOptions options;
  auto [path, backend] = GetParam();
  options.path = std::string(source) + "/" + path;
  auto module = importModel(context, options, info);
  ASSERT_TRUE(module) << module.error().message;

  // Check the locations after each pass.
  std::vector<std::string> missing;
  int passes = 0;
  PassManager manager(&context);
  manager.addInstrumentation(std::make_unique<PlaceCheck>(missing, passes));
  PipelineOptions pipeline;
  pipeline.backend = backend;
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    populateStage(manager, stage, pipeline);
  ASSERT_TRUE(succeeded(manager.run(**module)));

  // No pass was omitted, and each remark has a location.
  EXPECT_GE(passes,
            llvm::count_if(getPasses(), [&](const transom::PassInfo &info) {
              return info.stage != Stage::LlvmIr && runsPass(info, pipeline);
            }));
  for (const std::string &each : missing)
    ADD_FAILURE() << "unknown location after " << each;
  std::vector<Remark> remarks = Remarks::readFrom(**module);
  EXPECT_FALSE(remarks.empty());
  for (const Remark &remark : remarks)
    EXPECT_FALSE(remark.location.empty()) << remark.category << remark.name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, Locations,
    testing::Combine(testing::Values("test/goldens/bert",
                                     "test/goldens/roberta",
                                     "examples/decomposed-attention",
                                     "examples/transformer-encoder"),
                     testing::Values(Backend::Native, Backend::OneDnn)));

INSTANTIATE_TEST_SUITE_P(
    Decoders, Locations,
    testing::Combine(testing::Values("test/goldens/llama-gqa",
                                     "test/goldens/gemma2",
                                     "test/goldens/gpt2-by-layer",
                                     "test/goldens/bloom-alibi"),
                     testing::Values(Backend::Native)));

} // namespace
