// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors under their checkpoint names, with the converter's changes reverted.
#include "test/compiler/import/gguf/TinyGguf.h"

using namespace transom;
using namespace transom::test;

namespace {

/// Returns the values for a checkpoint tensor.
std::vector<float> evaluate(const ModelFiles &files, const std::string &name) {
  const WeightExpr expr = files.resolve(WeightExpr::file(name));
  Result<std::vector<int64_t>> shape = expr.shape(files);
  EXPECT_TRUE(shape) << shape.error().message;
  std::vector<float> values(*elementCount(*shape));
  Result<void> done = expr.evaluate(
      files, std::vector<int64_t>(shape->size(), 0), *shape, values.data());
  EXPECT_TRUE(done) << done.error().message;
  return values;
}

} // namespace

TEST(GgufTensors, names_of_the_checkpoint) {
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, tinyLlama());
  ASSERT_TRUE(model) << model.error().message;
  const ModelFiles &files = model->files;
  const SafetensorsTensor *down =
      files.find("model.layers.0.mlp.down_proj.weight");
  ASSERT_TRUE(down);
  EXPECT_EQ(down->shape, (std::vector<int64_t>{8, 12}));
  EXPECT_EQ(files.getStoredName("model.layers.0.mlp.down_proj.weight"),
            "blk.0.ffn_down.weight");
  EXPECT_EQ(files.resolve(WeightExpr::file("model.norm.weight")).str(),
            "file(\"output_norm.weight\")");
  EXPECT_EQ(evaluate(files, "model.norm.weight"),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(files.find("lm_head.weight"));
}

TEST(GgufTensors, rows_of_heads_are_no_longer_in_pairs) {
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, tinyLlama());
  ASSERT_TRUE(model) << model.error().message;
  // Stored row 2i in a head is row i, row 2i + 1 is in its second half.
  std::vector<float> query = evaluate(model->files,
                                      "model.layers.0.self_attn.q_proj.weight"),
                     rows;
  for (size_t i = 0; i < query.size(); i += 8)
    rows.push_back(query[i] / 8);
  EXPECT_EQ(rows, (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  std::vector<float> key =
      evaluate(model->files, "model.layers.0.self_attn.k_proj.weight");
  EXPECT_EQ(key[8], 16);
  EXPECT_EQ(key[9], 17);
}

TEST(GgufTensors, quantized_tensors_say_how_they_are_stored) {
  GgufWriter writer = tinyLlama();
  writer.append("output.weight", {32, 5}, 8, std::string(5 * 34, 'q'));
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, writer);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->files.resolve(WeightExpr::file("lm_head.weight")).str(),
            "file(\"output.weight\", i8, 32, 32)");
  EXPECT_EQ(model->files.find("output.weight")->getTypeName(), "Q8_0");
  EXPECT_EQ(evaluate(model->files, "lm_head.weight")[7],
            halfToFloat(0x7171) * 'q');
}

TEST(GgufTensors, types_that_are_not_read) {
  GgufWriter writer = tinyLlama();
  writer.append("output.weight", {256, 5}, 16, std::string(5 * 66, 'q'));
  EXPECT_EQ(withoutByte(modelError(writer, Status::Unsupported)),
            "tensor 'output.weight' has the type IQ2_XXS; supported: F32, F16, "
            "BF16, F64, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, "
            "Q6_K, IQ4_NL, IQ4_XS");
  writer = tinyLlama();
  writer.append("output.weight", {32}, 8, std::string(34, 'q'));
  EXPECT_EQ(withoutByte(modelError(writer, Status::Unsupported)),
            "tensor 'output.weight' of shape [32] has the type Q8_0; "
            "supported: matrices of it");
}

TEST(GgufTensors, a_scale_that_is_not_finite) {
  GgufWriter writer = tinyLlama();
  const std::string bytes =
      std::string(4 * 34, 'q') + std::string("\x00\x7c", 2);
  writer.append("output.weight", {32, 5}, 8, bytes + std::string(32, 'q'));
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, writer);
  ASSERT_TRUE(model) << model.error().message;
  std::vector<float> out(5 * 32);
  Result<void> done =
      model->files.read("output.weight", {0, 0}, {5, 32}, out.data());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Rejected);
  EXPECT_NE(done.error().message.find("m.gguf: tensor 'output.weight' has a "
                                      "group whose scale or minimum is not "
                                      "finite"),
            std::string::npos);
  done = model->files.readStored("output.weight", StoredField::Scales, {0, 0},
                                 {5, 1}, out.data());
  EXPECT_FALSE(done);
  EXPECT_TRUE(model->files.readStored("output.weight", StoredField::Scales,
                                      {0, 0}, {4, 1}, out.data()));
}

TEST(GgufTensors, tensors_that_nobody_reads_are_refused) {
  GgufWriter writer = tinyLlama();
  addTensor(writer, "blk.0.attn_sinks.weight", 2);
  EXPECT_EQ(withoutByte(modelError(writer, Status::Unsupported)),
            "tensor 'blk.0.attn_sinks.weight' is not supported in a model of "
            "architecture 'llama' with 1 layers");
  writer = tinyLlama();
  addTensor(writer, "blk.1.attn_norm.weight", 8);
  EXPECT_EQ(withoutByte(modelError(writer, Status::Unsupported)),
            "tensor 'blk.1.attn_norm.weight' is not supported in a model of "
            "architecture 'llama' with 1 layers");
}

TEST(GgufTensors, missing_and_misshapen_tensors) {
  EXPECT_EQ(
      modelError(withKey(tinyLlama(), "llama.block_count", ggufValue(2u))),
      "m.gguf: tensor 'blk.1.attn_norm.weight' is missing");
  EXPECT_EQ(
      withoutByte(modelError(withKey(
          withKey(tinyLlama(), "llama.attention.head_count_kv", ggufValue(3u)),
          "llama.attention.key_length", ggufValue(4u)))),
      "tensor 'blk.0.attn_k.weight' of shape [4, 8] has no even number "
      "of rows for each of 3 heads");
}
