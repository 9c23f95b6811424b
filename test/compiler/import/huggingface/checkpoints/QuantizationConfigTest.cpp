// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys in quantization_config: their meaning, and rejected values.
#include "compiler/import/huggingface/checkpoints/QuantizationConfig.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

struct ReadQuantization {
  explicit ReadQuantization(const std::string &text)
      : document(*parseJson(text, "config.json")),
        result(readQuantizationConfig(document.root())) {}
  JsonDocument document;
  Result<QuantizationConfig> result;
};

/// The string after `{"quant_method": METHOD, ` in an object.
std::string ofMethod(const std::string &method, const std::string &more) {
  return "{\"quant_method\": \"" + method + "\"" +
         (more.empty() ? "" : ", " + more) + "}";
}

void expectRefusal(const std::string &text, Status status,
                   const std::string &says) {
  ReadQuantization read(text);
  ASSERT_FALSE(read.result) << text;
  EXPECT_EQ(read.result.error().status, status) << text;
  EXPECT_NE(read.result.error().message.find(says), std::string::npos)
      << read.result.error().message;
}

std::string compressedTensors(const std::string &weights,
                              const std::string &format = "pack-quantized",
                              const std::string &more = "") {
  return ofMethod("compressed-tensors",
                  "\"format\": \"" + format +
                      "\", \"config_groups\": {\"group_0\": {\"targets\": "
                      "[\"Linear\"], \"weights\": {" +
                      weights + "}" + more + "}}");
}

} // namespace

TEST(QuantizationConfig, gptq) {
  // The old format stores zero points minus one.
  ReadQuantization old(
      ofMethod("gptq", R"("bits": 4, "group_size": 64, "desc_act": true)"));
  ASSERT_TRUE(old.result) << old.result.error().message;
  EXPECT_EQ(old.result->layout, QuantizationConfig::Layout::Gptq);
  EXPECT_EQ(old.result->bits, 4);
  EXPECT_EQ(old.result->group, 64);
  EXPECT_TRUE(old.result->zeroIsLess);
  EXPECT_TRUE(old.result->notes.empty());
  // A config with other keys.
  ReadQuantization other(ofMethod(
      "gptq",
      R"("bits": 8, "group_size": -1, "checkpoint_format": "gptq_v2", "x": 1)"));
  ASSERT_TRUE(other.result) << other.result.error().message;
  EXPECT_EQ(other.result->group, 0);
  EXPECT_FALSE(other.result->zeroIsLess);
  ASSERT_EQ(other.result->notes.size(), 1u);
  EXPECT_NE(other.result->notes[0].find("'/x': is not known and was ignored"),
            std::string::npos);
  EXPECT_FALSE(
      ReadQuantization(ofMethod("gptq", R"("bits": 4, "format": "gptq_v2")"))
          .result->zeroIsLess);
  // Values that are rejected or not supported.
  expectRefusal(ofMethod("gptq", "\"bits\": 3"), Status::Unsupported,
                "weights of 3 bits are not supported; supported: 4, 8");
  expectRefusal(ofMethod("gptq", ""), Status::Rejected, "missing key 'bits'");
  expectRefusal(ofMethod("gptq", R"("bits": 4, "checkpoint_format": "marlin")"),
                Status::Unsupported,
                "'marlin', which is not supported; supported: gptq");
  expectRefusal(ofMethod("gptq", R"("bits": 4, "dynamic": {"-:x": {}})"),
                Status::Unsupported, "'/dynamic': is not supported");
  expectRefusal(ofMethod("gptq", R"("bits": 4, "group_size": 0)"),
                Status::Rejected, "expected -1 or at least 1");
  expectRefusal(ofMethod("gptq", R"("bits": 4, "group_size": "x")"),
                Status::Rejected, "expected an integer");
}

TEST(QuantizationConfig, awq) {
  ReadQuantization read(
      ofMethod("awq", R"("bits": 4, "group_size": 128, "version": "GEMM")"));
  ASSERT_TRUE(read.result) << read.result.error().message;
  EXPECT_EQ(read.result->layout, QuantizationConfig::Layout::Awq);
  EXPECT_EQ(read.result->group, 128);
  expectRefusal(ofMethod("awq", R"("bits": 4, "version": "gemv")"),
                Status::Unsupported, "'version' is 'gemv'");
  expectRefusal(ofMethod("awq", R"("bits": 8)"), Status::Unsupported, "AWQ");
  expectRefusal(ofMethod("awq", R"("bits": 4, "zero_point": false)"),
                Status::Unsupported, "'zero_point'");
}

TEST(QuantizationConfig, compressed_tensors) {
  // Packed weights with groups, and plain weights without.
  ReadQuantization packed(compressedTensors(
      R"("num_bits": 4, "type": "int", "strategy": "group", "group_size": 32)"));
  ASSERT_TRUE(packed.result) << packed.result.error().message;
  EXPECT_EQ(packed.result->layout, QuantizationConfig::Layout::Packed);
  EXPECT_EQ(packed.result->group, 32);
  ReadQuantization plain(compressedTensors(
      R"("num_bits": 8, "strategy": "channel")", "int-quantized",
      R"(, "input_activations": {"num_bits": 8, "dynamic": true})"));
  ASSERT_TRUE(plain.result) << plain.result.error().message;
  EXPECT_EQ(plain.result->layout, QuantizationConfig::Layout::Plain);
  EXPECT_EQ(plain.result->group, 0);
  EXPECT_EQ(plain.result->notes.size(), 1u);
  // Values that are rejected or not supported.
  expectRefusal(compressedTensors(R"("num_bits": 8, "type": "float")"),
                Status::Unsupported, "'type' is 'float'");
  expectRefusal(compressedTensors(R"("num_bits": 4, "strategy": "block")"),
                Status::Unsupported, "'strategy' is 'block'");
  expectRefusal(compressedTensors("\"num_bits\": 4", "marlin-24"),
                Status::Unsupported, "'format' is 'marlin-24'");
  expectRefusal(
      compressedTensors(
          R"("num_bits": 8, "strategy": "channel")", "int-quantized",
          R"(, "input_activations": {"num_bits": 8, "dynamic": false})"),
      Status::Unsupported, "only dynamic activations of 8 bits");
  expectRefusal(ofMethod("compressed-tensors", R"("format": "int-quantized")"),
                Status::Rejected, "'config_groups' is missing");
}

TEST(QuantizationConfig, other_methods) {
  expectRefusal(ofMethod("bitsandbytes", ""), Status::Unsupported,
                "quantized by 'bitsandbytes' are not supported; supported: "
                "gptq, awq, compressed-tensors");
  expectRefusal("{}", Status::Rejected, "missing key 'quant_method'");
  expectRefusal("3", Status::Rejected, "expected an object");
}
