// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention as PyTorch exporters express it. Each graph is imported, returns
// torch's results, fuses as expected or reports the reason, and stays equal
// through all passes.
#include "compiler/import/Import.h"
#include "dialects/attn/Attn.h"
#include "passes/Remarks.h"
#include "runtime/json/Json.h"
#include "test/compiler/evaluator/Compare.h"
#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// torch's results are stored with 6 decimals; kern constants are f32.
constexpr double asTorch = 2e-6, inGraph = 1e-11, inKern = 1e-5;

std::string goldens() {
  return sourceFolder() + "/test/goldens/attention-spellings";
}

/// Folders with a graph.json next to the golden tensors.
class Spellings : public ::testing::Test {
protected:
  void SetUp() override {
    folder = ::testing::TempDir() + "/spellings-" + std::to_string(::getpid());
    ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
    ASSERT_FALSE(llvm::sys::fs::copy_file(goldens() + "/model.safetensors",
                                          folder + "/model.safetensors"));
    inputs = readTensors(goldens() + "/in.safetensors");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void check(const std::string &graph, JsonValue test, JsonValue results);
  void checkFusion(ModuleOp module, JsonValue test);

  std::string folder;
  std::vector<NamedTensor> inputs;
};

double getNumber(JsonValue object, const char *key) {
  return *object.find(key)->asDouble();
}

bool getFlag(JsonValue object, const char *key) {
  return *object.find(key)->asBool();
}

std::string getText(JsonValue object, const char *key) {
  return std::string(*object.find(key)->asString());
}

/// Returns the names of the attention remarks.
std::set<std::string> getRemarkNames(ModuleOp module) {
  std::set<std::string> names;
  for (const Remark &remark : Remarks::readFrom(module))
    if (remark.category == "attn-fuse-attention")
      names.insert(remark.name);
  return names;
}

/// Checks that attn-fuse-attention transformed the graph as the case expects.
void Spellings::checkFusion(ModuleOp module, JsonValue test) {
  SmallVector<attn::SdpaOp> all;
  module.walk([&](attn::SdpaOp op) { all.push_back(op); });
  const std::set<std::string> remarks = getRemarkNames(module);
  if (const std::string expected = getText(test, "remark"); !expected.empty())
    EXPECT_TRUE(remarks.count(expected)) << "no remark " << expected;
  ASSERT_EQ(all.size(), getFlag(test, "fused") ? 1u : 0u);
  if (all.empty())
    return;
  attn::SdpaOp op = all[0];
  EXPECT_EQ(op.getCausal(), getFlag(test, "causal"));
  EXPECT_EQ(attn::stringifyMaskKind(op.getMaskKind()).str(),
            getText(test, "mask"));
  EXPECT_NEAR(op.getScale().convertToDouble(), getNumber(test, "scale"), 1e-7);
  EXPECT_NEAR(op.getSoftCap().convertToDouble(), getNumber(test, "cap"), 1e-7);
  EXPECT_EQ(op.getMaskValue() ? op.getMaskValue()->convertToDouble() : 0,
            getNumber(test, "value"));
  EXPECT_EQ(remarks.count("factor-moved"), getNumber(test, "factor") != 1);
  EXPECT_EQ(remarks.count("soft-cap-fused"), getNumber(test, "cap") != 0);
}

void Spellings::check(const std::string &graph, JsonValue test,
                      JsonValue results) {
  std::ofstream(folder + "/graph.json") << graph;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ImportInfo info;
  auto module = importModel(context, {folder + "/graph.json"}, info);
  ASSERT_TRUE(module) << module.error().message;

  // The graph computes torch's results.
  std::vector<double> numbers;
  JsonValue result = results[static_cast<size_t>(getNumber(test, "result"))];
  for (JsonValue number : result.elements())
    numbers.push_back(*number.asDouble());
  EvaluateOptions options;
  options.source = &info.files;
  Case call;
  call.entry = "run";
  call.inputs = inputs;
  auto got = evaluateCase(**module, call, options);
  ASSERT_TRUE(got) << got.error().message;
  std::vector<NamedTensor> expected = {
      {"y", Tensor::of((*got)[0].tensor.sizes, numbers)}};
  EXPECT_EQ(getDifference(*got, expected, asTorch), "");

  // All passes keep that.
  call.outputs = *got;
  EXPECT_EQ(checkPasses(**module, Stage::AttnOpt, options, {call}, inGraph),
            "");
  checkFusion(**module, test);
  EXPECT_EQ(checkPasses(**module, Stage::Kern, options, {call}, inKern), "");
}

TEST_F(Spellings, fuse_as_expected) {
  Result<JsonDocument> document = parseJsonFile(goldens() + "/cases.json");
  ASSERT_TRUE(document) << document.error().message;
  JsonValue cases = *document->root().find("cases");
  EXPECT_GE(cases.size(), 140u);
  // The first line is common to all graphs.
  std::ifstream graphs(goldens() + "/graphs.jsonl");
  std::string start;
  ASSERT_TRUE(std::getline(graphs, start));
  for (JsonValue test : cases.elements()) {
    SCOPED_TRACE(getText(test, "name"));
    std::string graph;
    ASSERT_TRUE(std::getline(graphs, graph));
    check(start + graph, test, *document->root().find("results"));
  }
}

} // namespace
