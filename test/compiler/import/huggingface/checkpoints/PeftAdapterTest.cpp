// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions for an adapter. Results, and invalid adapters:
// test/e2e/test_lora.py.
#include "compiler/import/huggingface/checkpoints/PeftAdapter.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

/// A tensor with ones.
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

/// A model whose head is tied to its embeddings.
const AdapterBase tiedWords = {
    "TestForCausalLM",
    "model.",
    "",
    {{{"model.words.weight", "head.weight"}, "model.words"}}};

/// Returns the expression for a model tensor after merging, or the error.
std::string mergeOnes(const std::string &config,
                      const std::vector<AdapterTensor> &adapter,
                      const std::string &name,
                      const AdapterBase &base = tiedWords) {
  TempFolder model, folder;
  writeOnes(model / "model.safetensors", {{"model.q.weight", {4, 6}},
                                          {"model.q.bias", {4}},
                                          {"model.LayerNorm.beta", {6}},
                                          {"model.k.weight", {4, 6}},
                                          {"model.words.weight", {5, 6}}});
  folder.write("adapter_config.json", config);
  writeOnes(folder / "adapter_model.safetensors", adapter);
  Result<ModelFiles> files = ModelFiles::openFolder(model.path());
  EXPECT_TRUE(files);
  Result<std::vector<std::string>> notes =
      mergeAdapter(*files, folder.path(), base);
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

TEST(PeftAdapter, magnitudes_are_norms_of_rows) {
  const char *config = R"({"peft_type": "LORA", "r": 2, "use_dora": true})";
  const std::vector<AdapterTensor> factors = {
      {start + "k.lora_A.weight", {2, 6}},
      {start + "k.lora_B.weight", {4, 2}},
      {start + "k.lora_magnitude_vector", {4}}};
  const std::string text = mergeOnes(config, factors, "model.k.weight");
  EXPECT_EQ(text.substr(0, 15), "with_norms(add(");
  EXPECT_NE(text.find(", file(\"lora/" + start + "k.lora_magnitude_vector\"))"),
            std::string::npos);
  // A table's magnitudes apply to its columns.
  const std::string table =
      mergeOnes(config,
                {{start + "words.lora_embedding_A", {2, 5}},
                 {start + "words.lora_embedding_B", {6, 2}},
                 {start + "words.lora_magnitude_vector", {6}}},
                "model.words.weight");
  EXPECT_EQ(table.substr(0, 35), "transpose(with_norms(transpose(add(");
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA", "r": 2})", factors, ""),
            "adapter_model.safetensors: tensor '" + start +
                "k.lora_magnitude_vector' is there, but 'use_dora' of "
                "adapter_config.json is not true");
}

TEST(PeftAdapter, biases_of_products) {
  const std::string bias = "lora/" + start + "q.lora_B.bias";
  auto merge = [&](const std::string &module, const std::string &name) {
    return mergeOnes(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 1})",
                     {{start + module + ".lora_A.weight", {2, 6}},
                      {start + module + ".lora_B.weight", {4, 2}},
                      {start + module + ".lora_B.bias", {4}}},
                     name);
  };
  EXPECT_EQ(merge("q", "model.q.bias"), "add(file(\"model.q.bias\"), scale("
                                        "file(\"" +
                                            bias + "\"), 0.5))");
  EXPECT_EQ(merge("k", "model.k.lora_bias").substr(0, 6), "scale(");
}

TEST(PeftAdapter, old_names_of_norms) {
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA", "bias": "all"})",
                      {{start + "LayerNorm.bias", {6}}},
                      "model.LayerNorm.beta"),
            "file(\"lora/" + start + "LayerNorm.bias\")");
}

TEST(PeftAdapter, tied_tensors_are_changed_alone) {
  const std::vector<AdapterTensor> saved = {{start + "words.weight", {5, 6}}};
  const std::string own = "file(\"lora/" + start + "words.weight\")",
                    words = "file(\"model.words.weight\")";
  const char *config = R"({"peft_type": "LORA", "modules_to_save": ["words"]})";
  EXPECT_EQ(mergeOnes(config, saved, "model.words.weight"), own);
  EXPECT_EQ(mergeOnes(config, saved, "head.weight"), words);
  // A tensor that is only saved with the adapter is loaded into both.
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA"})", saved, "head.weight"), own);
  const std::vector<AdapterTensor> factors = {
      {"base_model.model.head.lora_A.weight", {8, 6}},
      {"base_model.model.head.lora_B.weight", {5, 8}}};
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA"})", factors, "head.weight")
                .substr(0, 31),
            "add(file(\"model.words.weight\"),");
  EXPECT_EQ(
      mergeOnes(R"({"peft_type": "LORA"})", factors, "model.words.weight"),
      words);
}

TEST(PeftAdapter, tokens_count_for_tied_tables) {
  const std::string rows = ".token_adapter.trainable_tokens_delta";
  const char *config =
      R"({"peft_type": "LORA", "trainable_token_indices": [4]})";
  auto find = [](const std::string &text) {
    return text.find("concat(0, slice(file(\"model.words.weight\"), 0, 0, 4)");
  };
  const std::vector<AdapterTensor> words = {{start + "words" + rows, {1, 6}}};
  const std::vector<AdapterTensor> head = {
      {"base_model.model.head" + rows, {1, 6}}};
  EXPECT_EQ(find(mergeOnes(config, words, "model.words.weight")), 0u);
  EXPECT_EQ(find(mergeOnes(config, words, "head.weight")), 0u);
  EXPECT_EQ(find(mergeOnes(config, head, "head.weight")), 0u);
  EXPECT_EQ(mergeOnes(config, head, "model.words.weight"),
            "file(\"model.words.weight\")");
  const std::string wrong = mergeOnes(
      R"({"peft_type": "LORA", "trainable_token_indices": [5]})", words, "");
  EXPECT_NE(wrong.find("has a row for token 5, but 'model.words.weight' has 5 "
                       "rows"),
            std::string::npos)
      << wrong;
}

TEST(PeftAdapter, transposed_weights_go_by_the_class) {
  const std::vector<AdapterTensor> factors = {
      {start + "q.lora_A.weight", {8, 4}}, {start + "q.lora_B.weight", {6, 8}}};
  AdapterBase base = tiedWords;
  base.transposed = "q";
  EXPECT_NE(
      mergeOnes(R"({"peft_type": "LORA"})", factors, "model.q.weight", base)
          .find("scale(transpose(matmul("),
      std::string::npos);
  // A parameter is as it is stored.
  EXPECT_NE(mergeOnes(R"({"peft_type": "LORA", "target_parameters":
                          ["q.weight"]})",
                      {{start + "q.lora_A.weight", {8, 6}},
                       {start + "q.lora_B.weight", {4, 8}}},
                      "model.q.weight", base)
                .find("scale(matmul("),
            std::string::npos);
}

TEST(PeftAdapter, modules_that_the_class_does_not_have) {
  const std::vector<AdapterTensor> score = {
      {"base_model.model.score.weight", {2, 6}}};
  EXPECT_EQ(mergeOnes(R"({"peft_type": "LORA"})", score, ""),
            "adapter_model.safetensors: tensor 'base_model.model.score.weight' "
            "is of the module 'score', which 'TestForCausalLM' does not have");
  EXPECT_EQ(
      mergeOnes(R"({"peft_type": "LORA", "task_type": "SEQ_CLS"})", score, ""),
      "adapter_model.safetensors: tensor 'base_model.model.score.weight' "
      "is of the module 'score', which 'TestForCausalLM' does not have; "
      "'task_type' of adapter_config.json is 'SEQ_CLS': 'architectures' "
      "of the model's config.json has to name the class that the adapter "
      "was trained with");
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
