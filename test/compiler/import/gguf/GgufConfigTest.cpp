// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Metadata to config.json: the mapping of each key, and rejected values.
#include "test/compiler/import/gguf/ConfigFixture.h"

using namespace transom;
using namespace transom::test;

TEST(GgufConfig, keys_of_the_table) {
  JsonDocument config = makeConfig(tinyLlama());
  EXPECT_EQ(getInt(config, "num_hidden_layers"), 1);
  EXPECT_EQ(getInt(config, "max_position_embeddings"), 16);
  EXPECT_EQ(getInt(config, "hidden_size"), 8);
  EXPECT_EQ(getInt(config, "intermediate_size"), 12);
  EXPECT_EQ(getInt(config, "num_attention_heads"), 2);
  EXPECT_EQ(getInt(config, "num_key_value_heads"), 1);
  EXPECT_EQ(getInt(config, "vocab_size"), 5);
  // Values are the intended decimals, not their f32 roundings.
  EXPECT_EQ(*config.root().find("rms_norm_eps")->asDouble(), 1e-5);
  EXPECT_TRUE(*config.root().find("tie_word_embeddings")->asBool());
  EXPECT_FALSE(*config.root().find("attention_bias")->asBool());
}

TEST(GgufConfig, absent_keys_have_the_values_of_the_format) {
  JsonDocument config = makeConfig(
      withKey(tinyLlama(), "llama.attention.key_length", ggufValue(4u)));
  EXPECT_EQ(getInt(config, "head_dim"), 4);
  EXPECT_EQ(*config.root().find("rope_theta")->asDouble(), 10000);
  EXPECT_FALSE(config.root().find("rope_scaling"));
  config = makeConfig(tinyLlama());
  EXPECT_EQ(getInt(config, "head_dim"), 4);
  EXPECT_EQ(modelError(withoutKey(tinyLlama(), "llama.block_count")),
            "m.gguf: missing key 'llama.block_count'");
  EXPECT_EQ(modelError(withoutKey(tinyLlama(),
                                  "llama.attention.layer_norm_rms_epsilon")),
            "m.gguf: missing key 'llama.attention.layer_norm_rms_epsilon'");
}

TEST(GgufConfig, sizes) {
  EXPECT_EQ(keyError("llama.block_count", ggufValue(0u)),
            "'llama.block_count' is 0; expected at least 1");
  EXPECT_EQ(keyError("llama.block_count", ggufValue(4097u)),
            "'llama.block_count' is 4097; supported: up to 4096");
  EXPECT_EQ(keyError("llama.embedding_length", ggufValue("8")),
            "'llama.embedding_length' is a string; expected an integer from 0 "
            "to 2147483647");
  EXPECT_EQ(keyError("llama.attention.head_count_kv", ggufValue(0u)),
            "'llama.attention.head_count_kv' is 0; expected at least 1");
  EXPECT_EQ(keyError("llama.attention.head_count", ggufValue(3u)),
            "'llama.embedding_length' is 8, which does not divide by the 3 "
            "heads of 'llama.attention.head_count'");
  EXPECT_EQ(unsupportedKey("llama.attention.value_length", ggufValue(2u)),
            "'llama.attention.value_length' is 2, but keys have 4; supported: "
            "keys and values of one length");
}

TEST(GgufConfig, sizes_by_layer_are_equal) {
  auto list = [](uint32_t first, uint32_t second) {
    return ggufArray(4, 2, ggufNumber(first) + ggufNumber(second));
  };
  EXPECT_EQ(getInt(makeConfig(withKey(tinyLlama(), "llama.feed_forward_length",
                                      list(12, 12))),
                   "intermediate_size"),
            12);
  EXPECT_EQ(unsupportedKey("llama.feed_forward_length", list(12, 13)),
            "'llama.feed_forward_length' differs by layer (12, 13), which is "
            "not supported");
}

TEST(GgufConfig, keys_that_would_change_results_are_refused) {
  EXPECT_EQ(unsupportedKey("llama.expert_count", ggufValue(8u)),
            "'llama.expert_count' is 8, which is not supported");
  EXPECT_EQ(unsupportedKey("llama.logit_scale", ggufValue(0.5f)),
            "'llama.logit_scale' is 0.5, which is not supported");
  EXPECT_EQ(keyError("llama.logit_scale", ggufValue(1.0f)), "no error");
  EXPECT_EQ(keyError("llama.expert_count", ggufValue(0u)), "no error");
  EXPECT_EQ(unsupportedKey("llama.attention.causal", ggufValue(false)),
            "'llama.attention.causal' is false; supported: true");
  EXPECT_EQ(unsupportedKey("llama.rope.dimension_count", ggufValue(2u)),
            "'llama.rope.dimension_count' is 2; supported: 4, the size of a "
            "head");
}

TEST(GgufConfig, pooling_of_an_encoder) {
  GgufWriter writer;
  for (auto [key, value] : tinyLlama().metadata)
    if (key != "general.architecture")
      writer.setBytes("bert" + key.substr(5), value);
  writer.set("general.architecture", "bert");
  writer.set("bert.attention.layer_norm_epsilon", 1e-12f);
  addTensor(writer, "token_embd.weight", 8, 5);
  for (auto [type, pooling] :
       {std::pair(0u, "mean"), std::pair(1u, "mean"), std::pair(2u, "cls")}) {
    TempFolder folder;
    Result<gguf::File> file = gguf::File::open(folder.write(
        "m.gguf",
        withKey(writer, "bert.pooling_type", ggufValue(type)).bytes()));
    ASSERT_TRUE(file);
    Result<gguf::ConfigText> config =
        gguf::makeConfig(*file, *gguf::findArchitecture("bert"));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->pooling, pooling);
  }
  EXPECT_EQ(withoutByte(
                modelError(withKey(writer, "bert.pooling_type", ggufValue(3u)),
                           Status::Unsupported)),
            "'bert.pooling_type' is 3; supported: 0 (none), 1 (mean), 2 (first "
            "token)");
}

TEST(GgufConfig, unknown_keys_give_notes) {
  std::vector<std::string> notes;
  makeConfig(withKey(withKey(tinyLlama(), "llama.new_thing", ggufValue(1u)),
                     "general.url", ggufValue("x")),
             &notes);
  EXPECT_EQ(notes,
            std::vector<std::string>{
                "m.gguf: key 'llama.new_thing' is not known and was ignored"});
}

TEST(GgufConfig, a_window_makes_it_a_mistral) {
  JsonDocument config = makeConfig(
      withKey(tinyLlama(), "llama.attention.sliding_window", ggufValue(7u)));
  EXPECT_EQ(*config.root().find("model_type")->asString(), "mistral");
  EXPECT_EQ(getInt(config, "sliding_window"), 7);
  config = makeConfig(
      withKey(tinyLlama(), "llama.attention.sliding_window", ggufValue(0u)));
  EXPECT_EQ(*config.root().find("model_type")->asString(), "llama");
  EXPECT_TRUE(config.root().find("sliding_window")->isNull());
}

TEST(GgufConfig, kinds_of_files) {
  EXPECT_EQ(
      withoutByte(modelError(
          withKey(tinyLlama(), "general.architecture", ggufValue("lama")),
          Status::Unsupported)),
      "unsupported architecture 'lama'; supported: bert, gemma, gemma2, "
      "gemma3, gpt2, llama, nomic-bert, olmo2, phi3, qwen2, qwen3, starcoder2; "
      "did you mean 'llama'?");
  EXPECT_EQ(modelError(withoutKey(tinyLlama(), "general.architecture")),
            "m.gguf: missing key 'general.architecture'");
  EXPECT_EQ(unsupportedKey("general.type", ggufValue("adapter")),
            "'general.type' is 'adapter'; supported: model");
  EXPECT_EQ(unsupportedKey("split.count", ggufValue(2u)),
            "the file is one of 2 parts of a model; merge them to one file");
}
