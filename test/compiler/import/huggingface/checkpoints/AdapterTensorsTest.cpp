// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adapter tensor names, and rows that replace table rows.
#include "compiler/import/huggingface/checkpoints/AdapterTensors.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

Result<AdapterTensors> read(const std::vector<std::string> &names) {
  TempFolder folder;
  const float one = 1;
  std::vector<TensorView> views;
  for (const std::string &name : names)
    views.push_back({name, DType::F32, {1}, &one});
  EXPECT_TRUE(writeSafetensors(folder / "adapter_model.safetensors", views));
  ModelFiles files;
  return readAdapterTensors(files, folder.path());
}

std::string replaced(const std::vector<int64_t> &ids, int64_t count) {
  return replaceRows(WeightExpr::file("t"), count, "r", ids).str();
}

} // namespace

TEST(AdapterTensors, go_by_module) {
  const std::string start = "base_model.model.";
  Result<AdapterTensors> tensors = read(
      {start + "a.q.lora_A.weight", start + "a.q.lora_B.default.weight",
       start + "a.q.lora_B.bias", start + "a.q.lora_magnitude_vector",
       start + "a.q.base_layer.bias", start + "a.q.lora_velora_embed",
       start + "w.lora_embedding_A", start + "w.lora_embedding_B",
       start + "_orig_mod.h.weight", start + "e.modules_to_save.default.weight",
       start + "t.token_adapter.trainable_tokens_delta"});
  ASSERT_TRUE(tensors) << tensors.error().message;
  // Factors, bias and magnitude belong to a module.
  const ModuleChange &query = tensors->modules.at("a.q");
  EXPECT_EQ(query.a, "lora/" + start + "a.q.lora_A.weight");
  EXPECT_EQ(query.b, "lora/" + start + "a.q.lora_B.default.weight");
  EXPECT_EQ(query.bias, "lora/" + start + "a.q.lora_B.bias");
  EXPECT_EQ(query.magnitude, "lora/" + start + "a.q.lora_magnitude_vector");
  EXPECT_FALSE(query.isTable);
  EXPECT_TRUE(tensors->modules.at("w").isTable);
  EXPECT_FALSE(tensors->modules.at("t").hasFactors());
  // Complete tensors replace parameters.
  std::vector<std::string> wholes;
  for (const WholeTensor &whole : tensors->wholes)
    wholes.push_back(whole.module + " " + whole.parameter);
  EXPECT_EQ(wholes,
            (std::vector<std::string>{"h weight", "a.q bias", "e weight"}));
  // Changed weights and replaced rows.
  EXPECT_TRUE(tensors->changes("h.weight"));
  EXPECT_TRUE(tensors->changes("w.weight"));
  EXPECT_FALSE(tensors->changes("a.weight"));
  EXPECT_TRUE(tensors->replacesRows("model.t.weight"));
  EXPECT_FALSE(tensors->replacesRows("w.weight"));
}

TEST(AdapterTensors, of_other_kinds_are_refused) {
  auto refuse = [](const std::vector<std::string> &names) {
    Result<AdapterTensors> tensors = read(names);
    if (tensors)
      return std::string("read");
    const std::string text = tensors.error().message;
    return text.substr(text.find("adapter_model"));
  };
  EXPECT_EQ(refuse({"base_model.model.q.lora_diag"}),
            "adapter_model.safetensors: tensor 'base_model.model.q.lora_diag' "
            "is of a kind of adapter that is not supported");
  EXPECT_EQ(refuse({"q.lora_A.weight", "q.lora_A.default.weight"}),
            "adapter_model.safetensors: tensor 'q.lora_A.weight' is for the "
            "same parameter as 'q.lora_A.default.weight'");
  EXPECT_EQ(refuse({"lora_A.weight"}), "adapter_model.safetensors: tensor "
                                       "'lora_A.weight' names no module of a "
                                       "model");
  EXPECT_EQ(refuse({}),
            "adapter_model.safetensors: the adapter has no tensors");
}

TEST(AdapterTensors, rows_that_follow_each_other_are_one_slice) {
  EXPECT_EQ(
      replaced({2, 3, 7}, 9),
      R"(concat(0, slice(file("t"), 0, 0, 2), slice(file("r"), 0, 0, 2), )"
      R"(slice(file("t"), 0, 4, 3), slice(file("r"), 0, 2, 1), )"
      R"(slice(file("t"), 0, 8, 1)))");
  EXPECT_EQ(
      replaced({1, 0}, 2),
      R"(concat(0, slice(file("r"), 0, 1, 1), slice(file("r"), 0, 0, 1)))");
  EXPECT_EQ(replaced({0, 1}, 2), R"(slice(file("r"), 0, 0, 2))");
  // The last row for a token counts.
  EXPECT_EQ(
      replaced({0, 0}, 2),
      R"(concat(0, slice(file("r"), 0, 1, 1), slice(file("t"), 0, 1, 1)))");
}
