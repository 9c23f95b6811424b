// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for encoder-decoders, by config.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

const char *const bartSizes =
    R"("vocab_size": 11, "d_model": 8, "encoder_layers": 3, "decoder_layers": 1,
       "encoder_attention_heads": 2, "decoder_attention_heads": 4,
       "encoder_ffn_dim": 12, "decoder_ffn_dim": 10,
       "max_position_embeddings": 64)";

const char *const t5Sizes =
    R"("vocab_size": 11, "d_model": 8, "num_layers": 2, "num_heads": 3,
       "d_kv": 5, "d_ff": 12)";

std::string bart(const std::string &type, const std::string &more = "") {
  return config(type, more, bartSizes);
}
std::string t5(const std::string &more = "", const std::string &type = "t5") {
  return config(type, more, t5Sizes);
}

TEST(Seq2SeqFamilies, all_are_imported_from_their_sizes) {
  for (const char *type :
       {"bart", "blenderbot", "m2m_100", "marian", "mbart", "pegasus"}) {
    FromConfig result(bart(type));
    ASSERT_TRUE(result.module) << type << ": " << result.error.message;
    EXPECT_TRUE(result.module->lookupSymbol("encode")) << type;
  }
  for (const char *type : {"t5", "mt5"}) {
    FromConfig result(t5("", type));
    ASSERT_TRUE(result.module) << type << ": " << result.error.message;
    EXPECT_EQ(result.attentions().size() % 2, 0u) << type;
    EXPECT_EQ(result.attentions()[0].getScale().convertToDouble(), 1) << type;
  }
}

TEST(Seq2SeqFamilies, positions_of_each_family) {
  auto getCountOf = [](const char *type, const char *part) {
    FromConfig result(bart(type));
    EXPECT_TRUE(result.module) << result.error.message;
    return getCount(result.text(), part);
  };
  EXPECT_GT(getCountOf("bart",
                       "slice(file(\"encoder.embed_positions.weight\"), "
                       "0, 2, 64)"),
            0u);
  EXPECT_GT(getCountOf("blenderbot", "= #weight.expr<file(\"encoder."
                                     "embed_positions.weight\")>"),
            0u);
  EXPECT_GT(getCountOf("marian", "sinusoid(64, 8, 1)"), 0u);
  EXPECT_GT(getCountOf("pegasus", "sinusoid(64, 8, 1)"), 0u);
  EXPECT_GT(getCountOf("m2m_100",
                       "concat(0, slice(sinusoid(66, 8, 2), 0, 0, 1), "
                       "fill([1, 8], 0.0), "
                       "slice(sinusoid(66, 8, 2), 0, 2, 64))"),
            0u);
}

TEST(Seq2SeqFamilies, a_padding_id_of_0_begins_the_table_of_m2m) {
  FromConfig result(bart("m2m_100", "\"pad_token_id\": 0"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_GT(getCount(result.text(), "concat(0, fill([1, 8], 0.0), "
                                    "slice(sinusoid(65, 8, 2), 0, 1, 64))"),
            0u);
}

TEST(Seq2SeqFamilies, m2m_needs_four_columns) {
  expectConfigError(config("m2m_100", "", R"("vocab_size": 11, "d_model": 3,
      "encoder_attention_heads": 1, "decoder_attention_heads": 1)"),
                    Status::Rejected, {"'/d_model'", "3 is less than 4"});
}

TEST(Seq2SeqFamilies, embeddings_are_scaled_where_the_config_says_so) {
  const std::string root = "scale = 2.8284";
  EXPECT_EQ(getCount(FromConfig(bart("mbart")).text(), root), 0u);
  EXPECT_GT(
      getCount(FromConfig(bart("mbart", "\"scale_embedding\": true")).text(),
               root),
      0u);
  EXPECT_GT(getCount(FromConfig(bart("m2m_100")).text(), root), 0u);
}

TEST(Seq2SeqFamilies, errors_of_the_decoder_are_found) {
  expectConfigError(bart("bart", "\"decoder_start_token_id\": 2, "
                                 "\"activation_function\": \"wave\""),
                    Status::Unsupported, {"'wave'"});
  expectConfigError(config("bart", "", R"("vocab_size": 11, "d_model": 8,
      "encoder_attention_heads": 2, "decoder_attention_heads": 3)"),
                    Status::Rejected,
                    {"'decoder_attention_heads' 3 does not divide"});
  expectConfigError(config("t5", "\"num_decoder_layers\": 0", t5Sizes),
                    Status::Unsupported, {"without layers"});
}

TEST(Seq2SeqFamilies, classes) {
  const std::string bare = "\"architectures\": [\"BartModel\"]";
  FromConfig model(bart("bart", bare + ", \"is_encoder_decoder\": false"));
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.info.notes, std::vector<std::string>{});
  FromConfig encoder(t5("\"architectures\": [\"T5EncoderModel\"]"));
  ASSERT_TRUE(encoder.module) << encoder.error.message;
  EXPECT_EQ(encoder.info.architecture, "T5EncoderModel");
  expectConfigError(bart("bart", "\"is_encoder_decoder\": false"),
                    Status::Unsupported,
                    {"'is_encoder_decoder' is false; supported: true"});
  expectConfigError(t5("\"architectures\": [\"T5ForTokenClassification\"]"),
                    Status::Unsupported,
                    {"T5ForTokenClassification",
                     "T5ForConditionalGeneration, T5Model, "
                     "T5EncoderModel"});
  expectConfigError(config("umt5", "", t5Sizes), Status::Unsupported,
                    {"'umt5'"});
}

/// Writes BART tensors with a layer in each half. `table` is the name of the
/// only token table.
static void writeBart(const ModelFolder &folder, const std::string &table) {
  Shapes shapes = {{table, {11, 8}}};
  auto linear = [&](const std::string &module, int64_t out, int64_t in) {
    shapes[module + ".weight"] = {out, in};
    shapes[module + ".bias"] = {out};
  };
  for (const std::string half : {"model.encoder.", "model.decoder."}) {
    shapes[half + "embed_positions.weight"] = {66, 8};
    std::vector<std::string> norms = {"layernorm_embedding",
                                      "layers.0.self_attn_layer_norm",
                                      "layers.0.final_layer_norm"};
    std::vector<std::string> attentions = {"layers.0.self_attn."};
    if (half == "model.decoder.") {
      norms.push_back("layers.0.encoder_attn_layer_norm");
      attentions.push_back("layers.0.encoder_attn.");
    }
    for (const std::string &norm : norms)
      shapes[half + norm + ".weight"] = shapes[half + norm + ".bias"] = {8};
    for (const std::string &attention : attentions)
      for (const char *projection : {"q_proj", "k_proj", "v_proj", "out_proj"})
        linear(half + attention + projection, 8, 8);
    linear(half + "layers.0.fc1", 12, 8);
    linear(half + "layers.0.fc2", 8, 12);
  }
  folder.writeTensors(shapes);
}

// A checkpoint contains a shared table once, under any name that shares it.
TEST(Seq2SeqFamilies, the_table_of_tokens_has_one_of_four_names) {
  const std::string one = R"("vocab_size": 11, "d_model": 8,
      "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
      "decoder_attention_heads": 2, "encoder_ffn_dim": 12,
      "decoder_ffn_dim": 12, "max_position_embeddings": 64)";
  for (const char *table :
       {"model.shared.weight", "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight", "lm_head.weight"}) {
    ModelFolder folder;
    folder.write("config.json", config("bart", "", one));
    writeBart(folder, table);
    Imported result(folder.path);
    ASSERT_TRUE(result.module) << table << ": " << result.error.message;
  }
  // The encoder's table is not the table for an untied head.
  ModelFolder folder;
  folder.write("config.json",
               config("bart", "\"tie_word_embeddings\": false", one));
  writeBart(folder, "lm_head.weight");
  expectError(folder.path, Status::Rejected, {"'shared.weight' is missing"});
}

TEST(Seq2SeqFamilies, the_mlp_of_t5) {
  auto getCountOf = [](const std::string &more, const char *part,
                       const char *type = "t5") {
    FromConfig result(t5(more, type));
    EXPECT_TRUE(result.module) << result.error.message;
    return getCount(result.text(), part);
  };
  EXPECT_EQ(getCountOf("", "activation <relu>"), 4u);
  EXPECT_EQ(getCountOf("", "wi_0"), 0u);
  EXPECT_EQ(getCountOf("", "activation <gelu_tanh>", "mt5"), 4u);
  const std::string gated = "\"feed_forward_proj\": \"gated-silu\"";
  EXPECT_EQ(getCountOf(gated, "activation <silu>"), 4u);
  EXPECT_GT(getCountOf(gated, "wi_0"), 0u);
  // The keys that transformers derives from it win.
  EXPECT_EQ(getCountOf(gated + R"(, "is_gated_act": false,
                              "dense_act_fn": "relu")",
                       "wi_0"),
            0u);
  for (const char *wrong : {"gated-wave", "wave", "gated", "silu-gated"})
    expectConfigError(
        t5("\"feed_forward_proj\": \"" + std::string(wrong) + "\""),
        Status::Unsupported, {"'feed_forward_proj'", wrong});
}

TEST(Seq2SeqFamilies, buckets_that_t5_can_tell_apart) {
  auto buckets = [](int64_t count, int64_t distance) {
    return t5(
        "\"relative_attention_num_buckets\": " + std::to_string(count) +
        ", \"relative_attention_max_distance\": " + std::to_string(distance));
  };
  EXPECT_TRUE(FromConfig(buckets(4, 3)).module);
  expectConfigError(buckets(3, 50), Status::Rejected,
                    {"'relative_attention_num_buckets' 3 is too few"});
  // The decoder uses half its buckets for short distances.
  expectConfigError(buckets(8, 4), Status::Rejected,
                    {"'relative_attention_max_distance' 4 is not above 4"});
  expectConfigError(buckets(8, 2), Status::Rejected, {"2 is not above 2"});
}

TEST(Seq2SeqFamilies, values_that_the_class_has_for_generation) {
  auto getDefault = [](const FromConfig &result, std::string_view key) {
    for (const GenerationDefault &entry : result.info.generationDefaults)
      if (entry.key == key)
        return entry.value;
    return int64_t(-1);
  };
  FromConfig blenderbot(bart("blenderbot")), m2m(bart("m2m_100"));
  // transformers reads generation settings only from the files.
  EXPECT_EQ(getDefault(blenderbot, "encoder_no_repeat_ngram_size"), -1);
  EXPECT_EQ(getDefault(blenderbot, "forced_eos_token_id"), -1);
  EXPECT_EQ(getDefault(m2m, "forced_eos_token_id"), -1);
  EXPECT_EQ(getDefault(m2m, "decoder_start_token_id"), 2);
  EXPECT_EQ(getDefault(FromConfig(bart("mbart")), "decoder_start_token_id"),
            -1);
  EXPECT_EQ(getDefault(FromConfig(t5()), "decoder_start_token_id"), -1);
  EXPECT_EQ(getDefault(FromConfig(t5("", "mt5")), "decoder_start_token_id"), 0);
}

TEST(Seq2SeqFamilies, an_encoder_without_layers_has_no_bias) {
  FromConfig result(config("t5", "\"num_decoder_layers\": 1", R"(
      "vocab_size": 11, "d_model": 8, "num_layers": 0, "num_heads": 3,
      "d_kv": 5, "d_ff": 12)"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "encoder.block.0"), 0u);
}

TEST(Seq2SeqFamilies, marian_may_have_two_vocabularies) {
  FromConfig shared(bart("marian", "\"decoder_vocab_size\": 7"));
  ASSERT_TRUE(shared.module) << shared.error.message;
  EXPECT_GT(getCount(shared.text(), "file(\"shared.weight\")"), 0u);
  FromConfig own(bart("marian", "\"decoder_vocab_size\": 7, "
                                "\"share_encoder_decoder_embeddings\": false"));
  ASSERT_TRUE(own.module) << own.error.message;
  EXPECT_EQ(getCount(own.text(), "file(\"shared.weight\")"), 0u);
  EXPECT_GT(getCount(own.text(), "file(\"encoder.embed_tokens.weight\")"), 0u);
}

} // namespace
