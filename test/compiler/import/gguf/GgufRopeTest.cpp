// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rope scaling in the metadata and in a tensor.
#include "test/compiler/import/gguf/ConfigFixture.h"

using namespace transom;
using namespace transom::test;

TEST(GgufRope, scaling_of_rope) {
  GgufWriter writer =
      withKey(tinyLlama(), "llama.rope.scaling.factor", ggufValue(4.0f));
  JsonDocument config = makeConfig(writer);
  auto getScaling = [&](const char *key) {
    return *config.root().find("rope_scaling")->find(key);
  };
  EXPECT_EQ(*getScaling("rope_type").asString(), "linear");
  EXPECT_EQ(*getScaling("factor").asDouble(), 4);
  writer = withKey(writer, "llama.rope.scaling.type", ggufValue("yarn"));
  writer = withKey(writer, "llama.rope.scaling.original_context_length",
                   ggufValue(8u));
  config = makeConfig(writer);
  EXPECT_EQ(*getScaling("rope_type").asString(), "yarn");
  EXPECT_EQ(*getScaling("original_max_position_embeddings").asInt(), 8);
  config =
      makeConfig(withKey(writer, "llama.rope.scaling.type", ggufValue("none")));
  EXPECT_FALSE(config.root().find("rope_scaling"));
  EXPECT_EQ(unsupportedKey("llama.rope.scaling.type", ggufValue("longrope")),
            "'llama.rope.scaling.type' is 'longrope'; supported: none, linear, "
            "yarn");
  EXPECT_EQ(
      unsupportedKey("llama.rope.scaling.yarn_attn_factor", ggufValue(0.5f)),
      "'llama.rope.scaling.yarn_attn_factor' is 0.5, which is not "
      "supported");
}

/// As in llama.cpp, a factor of 0 has no effect.
TEST(GgufRope, without_a_factor_nothing_is_scaled) {
  for (const char *type : {"linear", "yarn"}) {
    GgufWriter writer =
        withKey(tinyLlama(), "llama.rope.scaling.type", ggufValue(type));
    EXPECT_FALSE(makeConfig(writer).root().find("rope_scaling")) << type;
    writer = withKey(writer, "llama.rope.scaling.factor", ggufValue(0.0f));
    EXPECT_FALSE(makeConfig(writer).root().find("rope_scaling")) << type;
  }
  for (const char *key :
       {"llama.rope.scaling.factor", "llama.rope.scale_linear"})
    EXPECT_FALSE(makeConfig(withKey(tinyLlama(), key, ggufValue(0.0f)))
                     .root()
                     .find("rope_scaling"))
        << key;
  GgufWriter writer =
      withKey(tinyLlama(), "llama.rope.scaling.factor", ggufValue(4.0f));
  writer = withKey(writer, "llama.rope.scaling.type", ggufValue("yarn"));
  JsonDocument config = makeConfig(withKey(
      writer, "llama.rope.scaling.original_context_length", ggufValue(0u)));
  EXPECT_FALSE(config.root()
                   .find("rope_scaling")
                   ->find("original_max_position_embeddings"));
}

TEST(GgufRope, a_length_before_scaling_says_nothing_without_scaling) {
  std::vector<std::string> notes;
  JsonDocument config = makeConfig(
      withKey(tinyLlama(), "llama.rope.scaling.original_context_length",
              ggufValue(8u)),
      &notes);
  EXPECT_FALSE(config.root().find("rope_scaling"));
  EXPECT_TRUE(notes.empty());
}

TEST(GgufRope, divisors_of_frequencies) {
  GgufWriter writer = tinyLlama();
  writer.append("rope_freqs.weight", {2}, 0,
                ggufNumber(1.0f) + ggufNumber(2.5f));
  JsonDocument config = makeConfig(writer);
  JsonValue scaling = *config.root().find("rope_scaling");
  EXPECT_EQ(*scaling.find("rope_type")->asString(), "frequency_factors");
  EXPECT_EQ(*(*scaling.find("factors"))[1].asDouble(), 2.5);
  EXPECT_EQ(withoutByte(modelError(
                withKey(writer, "llama.rope.scaling.factor", ggufValue(2.0f)),
                Status::Unsupported)),
            "tensor 'rope_freqs.weight' beside 'llama.rope.scaling.type' "
            "'linear' is not supported");
  writer = tinyLlama();
  writer.append("rope_freqs.weight", {2}, 0,
                ggufNumber(1.0f) + ggufNumber(0.0f));
  EXPECT_EQ(withoutByte(modelError(writer)),
            "tensor 'rope_freqs.weight' has the element 0.000000; expected a "
            "finite number above 0");
  writer = tinyLlama();
  writer.append("rope_freqs.weight", {3}, 0, std::string(12, '\0'));
  EXPECT_EQ(withoutByte(modelError(writer)),
            "tensor 'rope_freqs.weight' of type F32 has shape [3]; expected "
            "F32 [2]");
}
