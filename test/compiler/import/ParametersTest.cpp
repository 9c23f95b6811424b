// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoint tensors: missing tensors, other shapes and types, and names with
// the base model's prefix.
#include "test/compiler/import/TinyBert.h"

using namespace transom;
using namespace transom::testing;

TEST(Parameters, missing_tensor) {
  Shapes shapes = tinyBert();
  shapes.erase("encoder.layer.0.attention.self.key.weight");
  expectTinyBertTensorsError(
      shapes, Status::Rejected,
      {"'encoder.layer.0.attention.self.key.weight' is missing", "[8, 8]"});
  shapes = tinyBert("bert.");
  shapes.erase("bert.encoder.layer.0.output.LayerNorm.bias");
  expectTinyBertTensorsError(shapes, Status::Rejected,
                             {"'bert.encoder.layer.0.output.LayerNorm.bias'"});
}

TEST(Parameters, misshaped_tensor) {
  Shapes shapes = tinyBert();
  shapes["embeddings.word_embeddings.weight"] = {12, 8};
  expectTinyBertTensorsError(shapes, Status::Rejected,
                             {"model.safetensors",
                              "'embeddings.word_embeddings.weight'", "[12, 8]",
                              "[11, 8]"});
}

TEST(Parameters, tensors_of_a_type_that_is_not_built) {
  expectTinyBertTensorsError(tinyBert(), Status::Unsupported,
                             {"dtype I32", "supported: F32"}, DType::I32);
}

TEST(Parameters, names_may_carry_the_prefix_of_the_base_model) {
  ModelFolder folder;
  folder.writeTensors(tinyBert("bert."));
  folder.write("config.json", tinyBertConfig());
  Imported result(folder.path);
  EXPECT_TRUE(result.module) << result.error.message;
}
