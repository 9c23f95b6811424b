// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions that an adapter makes. Results, and adapters that are wrong:
// test/e2e/test_lora.py.
#include "compiler/import/huggingface/PeftAdapter.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

/// A tensor of ones.
struct AdapterTensor {
  std::string name;
  std::vector<int64_t> shape;
};

void writeOnes(const std::string &path,
               const std::vector<AdapterTensor> &tensors) {
  const std::vector<float> ones(100, 1);
  std::vector<TensorView> views;
  for (const AdapterTensor &tensor : tensors)
    views.push_back({tensor.name, DType::F32, tensor.shape, ones.data()});
  EXPECT_TRUE(writeSafetensors(path, views));
}

/// The text of a tensor of the model after merging, or the error.
std::string mergeOnes(const std::string &config,
                      const std::vector<AdapterTensor> &adapter,
                      const std::string &name) {
  TempFolder model, folder;
  writeOnes(model / "model.safetensors", {{"model.q.weight", {4, 6}},
                                          {"model.q.bias", {4}},
                                          {"model.words.weight", {5, 6}}});
  folder.write("adapter_config.json", config);
  writeOnes(folder / "adapter_model.safetensors", adapter);
  Result<ModelFiles> files = ModelFiles::openFolder(model.path());
  EXPECT_TRUE(files);
  Result<std::vector<std::string>> notes =
      mergeAdapter(*files, folder.path(), "model.");
  if (!notes)
    return notes.error().message.substr(folder.path().size() + 1);
  return files->resolve(WeightExpr::file(name)).str();
}

const std::string start = "base_model.model.model.";

} // namespace

TEST(PeftAdapter, a_product_is_added) {
  const std::vector<AdapterTensor> factors = {
      {start + "q.lora_A.weight", {2, 6}}, {start + "q.lora_B.weight", {4, 2}}};
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3})",
                      factors, "model.q.weight"),
            "add(file(\"model.q.weight\"), scale(matmul(file(\"lora/" + start +
                "q.lora_B.weight\"), file(\"lora/" + start +
                "q.lora_A.weight\")), 1.5))");
  const std::string patterns = mergeOnes(
      R"({"peft_type": "LORA", "r": 8, "lora_alpha": 3, "use_rslora": true,
          "rank_pattern": {"q": 2}, "alpha_pattern": {"model.q": 4, "u": 9}})",
      factors, "model.q.weight");
  EXPECT_NE(patterns.find(", 2.82842712474619))"), std::string::npos)
      << patterns;
  EXPECT_EQ(
      mergeOnes(R"({"peft_type": "LORA", "r": 2})", factors, "model.q.bias"),
      "file(\"model.q.bias\")");
}

TEST(PeftAdapter, names_without_what_those_of_the_class_begin_with) {
  const std::string text =
      mergeOnes(R"({"peft_type": "LORA", "r": 2})",
                {{"base_model.model.q.lora_A.weight", {2, 6}},
                 {"base_model.model.q.lora_B.weight", {4, 2}}},
                "model.q.weight");
  EXPECT_EQ(text.substr(0, 4), "add(");
}

TEST(PeftAdapter, tables_and_whole_tensors) {
  const std::string text =
      mergeOnes(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 2})",
                {{start + "words.lora_embedding_A", {2, 5}},
                 {start + "words.lora_embedding_B", {6, 2}},
                 {start + "words.base_layer.weight", {5, 6}}},
                "model.words.weight");
  EXPECT_EQ(text, "add(file(\"lora/" + start +
                      "words.base_layer.weight\"), scale(transpose(matmul("
                      "file(\"lora/" +
                      start + "words.lora_embedding_B\"), file(\"lora/" +
                      start + "words.lora_embedding_A\")), [1, 0]), 1.0))");
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA"})",
                      {{start + "q.modules_to_save.default.bias", {4}}},
                      "model.q.bias"),
            "file(\"lora/" + start + "q.modules_to_save.default.bias\")");
}

TEST(PeftAdapter, other_shapes) {
  EXPECT_EQ(
      mergeOnes(R"({"peft_type": "LORA"})", {{start + "q.bias", {5}}}, ""),
      "adapter_model.safetensors: tensor '" + start +
          "q.bias' has shape [5], but the model's is [4]");
  EXPECT_EQ(
      mergeOnes(R"({"peft_type": "LORA", "r": 2})",
                {{start + "q.lora_A.weight", {2, 5}},
                 {start + "q.lora_B.weight", {4, 2}}},
                ""),
      "adapter_model.safetensors: tensor '" + start +
          "q.lora_A.weight' and its B have the shapes [2, 5] and [4, 2], "
          "expected [2, 6] and [4, 2] for 'model.q.weight' by the rank of "
          "adapter_config.json");
}
