// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model configs: features switched by keys, unsupported values, contradicting
// sizes, and a config without files.
#include "compiler/import/huggingface/ModelConfig.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

//===--- Entries of the table ---------------------------------------------===//

/// The config as read by a family with one difference.
struct ReadBy {
  template <typename Change>
  ReadBy(const char *type, const std::string &more, Change change)
      : family(*findModelFamily(type)) {
    change(family);
    Result<JsonDocument> document =
        parseJson(config(type, more), "config.json");
    EXPECT_TRUE(bool(document));
    Config read(std::move(*document));
    refuseUnsupportedValues(read, family);
    model = readModelConfig(read, family);
    if (read.failed())
      error = read.takeError();
  }
  ModelFamily family;
  ModelConfig model;
  Error error{Status::Ok, "", {}};
};

TEST(ModelConfig, an_absent_flag_has_the_value_of_the_entry) {
  auto withKey = [](ModelFamily &family) { family.keys.normBefore = {"pre"}; };
  EXPECT_EQ(ReadBy("bert", "", withKey).model.normPlacement,
            NormPlacement::Post);
  EXPECT_EQ(ReadBy("bert", "\"pre\": true", withKey).model.normPlacement,
            NormPlacement::Pre);
  EXPECT_EQ(ReadBy("llama", "", withKey).model.normPlacement,
            NormPlacement::Pre);
  EXPECT_EQ(ReadBy("llama", "\"pre\": false", withKey).model.normPlacement,
            NormPlacement::Post);
  auto always = [](ModelFamily &family) {
    family.keys.parallelResidual = {true};
  };
  EXPECT_TRUE(ReadBy("llama", "", always).model.parallelResidual);
}

TEST(ModelConfig, an_entry_refuses_values) {
  auto refuse = [](ModelFamily &family) {
    family.supportedValues = {{"causal", "false"},
                              {"scale_base", "null"},
                              {"glu", "swiglu"},
                              {"scaled", "true"},
                              {"distance", "64"}};
  };
  EXPECT_EQ(ReadBy("bert", R"("causal": false, "scale_base": null,
                              "glu": "swiglu", "scaled": true,
                              "distance": 64)",
                   refuse)
                .error.message,
            "");
  for (const char *wrong :
       {"\"causal\": true", "\"scale_base\": 512", "\"glu\": \"geglu\"",
        "\"scaled\": false", "\"distance\": 63"}) {
    ReadBy read("bert", wrong, refuse);
    EXPECT_EQ(read.error.status, Status::Unsupported) << wrong;
    EXPECT_NE(read.error.message.find("supported: "), std::string::npos)
        << read.error.message;
  }
}

TEST(ModelConfig, a_padding_id_that_positions_are_counted_from) {
  ReadBy roberta("roberta", "\"pad_token_id\": 1000000", [](ModelFamily &) {});
  EXPECT_EQ(roberta.error.status, Status::Rejected);
  EXPECT_NE(roberta.error.message.find(
                "'/pad_token_id': the padding id 1000000 is not in the "
                "vocabulary of "),
            std::string::npos)
      << roberta.error.message;
  // Other families do not read it.
  EXPECT_EQ(ReadBy("bert", "\"pad_token_id\": 1000000", [](ModelFamily &) {})
                .error.message,
            "");
}

TEST(ModelConfig, features_that_do_not_combine) {
  ReadBy post("gpt_neox", "", [](ModelFamily &family) {
    family.normPlacement = NormPlacement::Post;
  });
  EXPECT_EQ(post.error.status, Status::Unsupported);
  ReadBy plain("llama", "\"affine\": false", [](ModelFamily &family) {
    family.keys.normsHaveWeights = {"affine"};
  });
  EXPECT_EQ(plain.error.status, Status::Unsupported);
  ReadBy ranks("roberta", "",
               [](ModelFamily &family) { family.kind = ModelKind::Decoder; });
  EXPECT_EQ(ranks.error.status, Status::Unsupported);
  EXPECT_NE(ranks.error.message.find("rank"), std::string::npos)
      << ranks.error.message;
  ReadBy own("qwen3", "\"num_key_value_heads\": 1",
             [](ModelFamily &family) { family.headNorms = HeadNorms::Own; });
  EXPECT_EQ(own.error.status, Status::Unsupported);
  EXPECT_NE(own.error.message.find("for each head"), std::string::npos)
      << own.error.message;
}

//===--- Types of layers -------------------------------------------------===//

TEST(ModelConfig, layer_types_that_are_wrong) {
  const std::string heads = "\"num_key_value_heads\": 2, ";
  expectConfigError(config("qwen2", heads + "\"layer_types\": []"),
                    Status::Rejected,
                    {"'/layer_types'", "names 0 layers", "is 3"});
  expectConfigError(config("qwen2", heads + R"("layer_types": ["full_attention",
        "linear_attention", "full_attention"])"),
                    Status::Unsupported,
                    {"'/layer_types/1'", "'linear_attention'"});
  expectConfigError(
      config("mistral", heads + R"("sliding_window": 4, "layer_types":
        ["full_attention", "sliding_attention", "full_attention"])"),
      Status::Unsupported, {"'/layer_types'", "model_type 'mistral'"});
}

//===--- Heads of attention ----------------------------------------------===//

TEST(ModelConfig, heads_that_do_not_divide) {
  expectConfigError(config("llama", "\"num_key_value_heads\": 3"),
                    Status::Rejected,
                    {"'/num_key_value_heads'", "'num_key_value_heads' 3",
                     "'num_attention_heads' 2"});
  expectConfigError(config("gpt2", "\"n_head\": 3"), Status::Rejected,
                    {"'/n_head'", "'n_head' 3", "does not divide"});
  expectConfigError(config("llama", "\"head_dim\": 70000"), Status::Rejected,
                    {"'/head_dim'", "65536"});
}

TEST(ModelConfig, at_least_one_layer) {
  expectConfigError(
      config("bloom", "\"n_layer\": 0", R"("vocab_size": 11, "n_head": 2)"),
      Status::Unsupported, {"'/n_layer'", "without layers"});
}

TEST(ModelConfig, any_size_of_heads) {
  FromConfig result(config("llama", "\"head_dim\": 6"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_NE(result.text().find("!attn.cache<heads 2, key 6, value 6>"),
            std::string::npos);
  expectConfigError(config("llama", "\"head_dim\": 5"), Status::Rejected,
                    {"rope turns 6 numbers of a head of 5"});
}

//===--- Heads of the model ----------------------------------------------===//

TEST(ModelConfig, architectures) {
  EXPECT_EQ(FromConfig(config("gpt2")).info.architecture, "GPT2LMHeadModel");
  FromConfig bare(config("opt", R"("architectures": ["OPTModel"])"));
  ASSERT_TRUE(bare.module) << bare.error.message;
  EXPECT_EQ(getCount(bare.text(), "attn.name = \"last_hidden_state\""), 1u);
  FromConfig labels(config("phi3", R"("architectures":
      ["Phi3ForSequenceClassification"], "num_labels": 5)"));
  ASSERT_TRUE(labels.module) << labels.error.message;
  EXPECT_EQ(getCount(labels.text(), "@score.weight : [5, 8] f32"), 2u);
  expectConfigError(
      config("gpt2", R"("architectures": ["GPT2DoubleHeadsModel"])"),
      Status::Unsupported,
      {"'/architectures/0'", "'GPT2DoubleHeadsModel'", "GPT2LMHeadModel"});
}

TEST(ModelConfig, what_is_not_supported) {
  expectConfigError(config("gpt2", "\"add_cross_attention\": true"),
                    Status::Unsupported, {"'add_cross_attention'"});
  expectConfigError(config("gemma2", "\"use_bidirectional_attention\": true, "
                                     "\"num_key_value_heads\": 1"),
                    Status::Unsupported, {"'use_bidirectional_attention'"});
  expectConfigError(
      config("llama", "\"quantization_config\": {\"quant_method\": \"hqq\"}"),
      Status::Unsupported, {"'/quantization_config/quant_method'", "'hqq'"});
  expectConfigError(config("llama", "\"hidden_act\": \"relu6\""),
                    Status::Unsupported, {"'relu6'", "silu"});
}

TEST(ModelConfig, scales) {
  auto read = [](const std::string &more) {
    return ReadBy("granite", more, [](ModelFamily &) {});
  };
  EXPECT_EQ(read("").model.layers[0].scale, 1);
  ModelConfig model = read(R"("embedding_multiplier": 12,
      "residual_multiplier": 0.5, "attention_multiplier": 0.25,
      "logits_scaling": 4)")
                          .model;
  EXPECT_EQ(model.embeddingScale, 12);
  EXPECT_EQ(model.residualScale, 0.5);
  EXPECT_EQ(model.layers[2].scale, 0.25);
  EXPECT_EQ(model.headScale, 0.25);
  EXPECT_EQ(read("\"logits_scaling\": 0").error.status, Status::Rejected);
}

//===--- A config alone --------------------------------------------------===//

TEST(ConfigAlone, counts_the_parameters_of_the_class) {
  FromConfig result(R"({"model_type": "gpt2", "n_embd": 12288, "n_layer": 96,
                        "n_head": 96, "n_positions": 2048})");
  ASSERT_TRUE(result.module) << result.error.message;
  uint64_t d = 12288;
  EXPECT_EQ(result.info.parameters,
            96 * (12 * d * d + 13 * d) + (50257 + 2048) * d + 2 * d);
  EXPECT_EQ(result.info.inputFiles, std::vector<std::string>{"config.json"});
}

TEST(ConfigAlone, agrees_with_the_files) {
  for (const char *name :
       {"gemma2", "phi3", "opt-post-norm", "bloom-alibi", "llama-scaled",
        "llama-classify", "gpt2-by-layer", "bert", "roberta", "bert-mlm"}) {
    const std::string folder = sourceFolder() + "/test/goldens/" + name;
    Imported files(folder), alone(folder, /*configOnly=*/true);
    ASSERT_TRUE(files.module && alone.module) << alone.error.message;
    EXPECT_EQ(alone.info.parameters, files.info.parameters) << name;
    EXPECT_EQ(alone.info.dtypes, files.info.dtypes) << name;
  }
}

TEST(ConfigAlone, has_the_type_that_the_config_names) {
  FromConfig result(config("llama", "\"torch_dtype\": \"bfloat16\""));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.dtypes.size(), 1u);
  EXPECT_EQ(result.info.dtypes.count("BF16"), 1u);
}

//===--- Files -----------------------------------------------------------===//

TEST(DecoderFiles, a_tensor_of_another_shape) {
  ModelFolder folder;
  folder.write("config.json", config("gpt2"));
  folder.writeTensors({{"wte.weight", {11, 8}},
                       {"wpe.weight", {64, 8}},
                       {"h.0.ln_1.weight", {8}},
                       {"h.0.ln_1.bias", {8}},
                       {"h.0.attn.c_attn.weight", {24, 8}}});
  expectError(folder.path, Status::Rejected,
              {"model.safetensors", "'h.0.attn.c_attn.weight'", "[24, 8]",
               "expected [8, 24]"});
}

TEST(DecoderFiles, a_head_that_is_neither_there_nor_tied) {
  ModelFolder folder;
  folder.write("config.json",
               R"({"model_type": "llama", "vocab_size": 11, "hidden_size": 8,
                   "num_hidden_layers": 1, "num_attention_heads": 2,
                   "intermediate_size": 3})");
  const std::string layer = "model.layers.0.";
  folder.writeTensors({{"model.embed_tokens.weight", {11, 8}},
                       {layer + "input_layernorm.weight", {8}},
                       {layer + "self_attn.q_proj.weight", {8, 8}},
                       {layer + "self_attn.k_proj.weight", {8, 8}},
                       {layer + "self_attn.v_proj.weight", {8, 8}},
                       {layer + "self_attn.o_proj.weight", {8, 8}},
                       {layer + "post_attention_layernorm.weight", {8}},
                       {layer + "mlp.gate_proj.weight", {3, 8}},
                       {layer + "mlp.up_proj.weight", {3, 8}},
                       {layer + "mlp.down_proj.weight", {8, 3}},
                       {"model.norm.weight", {8}}});
  expectError(folder.path, Status::Rejected,
              {"tensor 'lm_head.weight' is missing", "[11, 8]"});
}

} // namespace
