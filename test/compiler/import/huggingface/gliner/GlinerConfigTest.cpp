// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys in gliner_config.json: read keys, and one-line errors.
#include "compiler/import/huggingface/gliner/GlinerConfig.h"
#include "gtest/gtest.h"

using namespace transom;

namespace {

/// A parsed config, with its error and unknown keys.
struct ReadConfig {
  explicit ReadConfig(const std::string &members) {
    auto document = parseJson("{" + members + "}", "gliner_config.json");
    EXPECT_TRUE(bool(document)) << document.error().message;
    Config config(*document);
    gliner = readGlinerConfig(config);
    unknown = config.unknownKeys();
    if (config.failed())
      error = config.takeError();
  }
  GlinerConfig gliner;
  std::vector<std::string> unknown;
  std::optional<Error> error;
};

const std::string noLstm = R"("num_rnn_layers": 0)";

void expectRefusal(const std::string &members, Status status,
                   const std::string &text) {
  ReadConfig read(members);
  ASSERT_TRUE(read.error) << members;
  EXPECT_EQ(read.error->status, status) << read.error->message;
  EXPECT_NE(read.error->message.find(text), std::string::npos)
      << read.error->message;
  EXPECT_EQ(read.error->message.find('\n'), std::string::npos);
}

} // namespace

TEST(GlinerConfig, has_the_defaults_of_the_package) {
  ReadConfig read(noLstm);
  ASSERT_FALSE(read.error) << read.error->message;
  EXPECT_EQ(read.gliner.spanMode, SpanMode::MarkerV0);
  EXPECT_EQ(read.gliner.hidden, 512);
  EXPECT_EQ(read.gliner.encoderName, "microsoft/deberta-v3-small");
  EXPECT_FALSE(read.gliner.encoder);
  const ManifestEntities &entities = read.gliner.entities;
  EXPECT_EQ(entities.maxWords, 384);
  EXPECT_EQ(entities.maxWidth, 12);
  EXPECT_EQ(entities.pooling, "first");
  EXPECT_EQ(entities.typeToken, "<<ENT>>");
  EXPECT_EQ(entities.separator, "<<SEP>>");
  EXPECT_EQ(entities.typeTokenId, -1);
  EXPECT_FALSE(entities.readsName);
}

TEST(GlinerConfig, is_read) {
  ReadConfig token(noLstm + R"(, "span_mode": "token_level", "max_width": 7,
    "hidden_size": 8, "max_len": 9, "subtoken_pooling": "mean",
    "ent_token": "[E]", "sep_token": "[S]", "embed_ent_token": false,
    "class_token_index": 5, "vocab_size": 70, "dropout": 0.1, "transformers_version": "5", "odd": 1,
    "labels_encoder": null, "encoder_config": {"model_type": "bert"})");
  ASSERT_FALSE(token.error) << token.error->message;
  EXPECT_TRUE(token.gliner.isTokenLevel());
  EXPECT_EQ(token.gliner.hidden, 8);
  EXPECT_EQ(token.gliner.vocabulary, 70);
  EXPECT_TRUE(token.gliner.encoder);
  const ManifestEntities &entities = token.gliner.entities;
  EXPECT_EQ(entities.maxWords, 9);
  EXPECT_EQ(entities.maxWidth, 0); // any width
  EXPECT_EQ(entities.pooling, "mean");
  EXPECT_EQ(entities.typeToken, "[E]");
  EXPECT_EQ(entities.separator, "[S]");
  EXPECT_EQ(entities.typeTokenId, 5);
  EXPECT_TRUE(entities.readsName);
  EXPECT_EQ(token.unknown, std::vector<std::string>{"odd"});
}

TEST(GlinerConfig, forgets_the_id_of_a_vocabulary_that_grows) {
  EXPECT_EQ(ReadConfig(noLstm + R"(, "class_token_index": 5)")
                .gliner.entities.typeTokenId,
            -1);
}

TEST(GlinerConfig, names_what_is_not_supported) {
  const Status no = Status::Unsupported;
  expectRefusal("", no, "bidirectional LSTM");
  expectRefusal("\"num_rnn_layers\": 2", no, "('num_rnn_layers' 2)");
  for (const char *key :
       {"labels_encoder", "labels_decoder", "relations_layer"})
    expectRefusal(noLstm + ", \"" + key + "\": \"x\"", no, key);
  expectRefusal(noLstm + R"(, "span_encoder_config": {"model_type": "rnn"})",
                no, "span_encoder_config");
  expectRefusal(noLstm + R"(, "model_type": "gliner_streaming_span")", no,
                "gliner_streaming_span");
  expectRefusal(noLstm + R"(, "fuse_layers": true)", no, "fuse_layers");
  expectRefusal(noLstm + R"(, "precomputed_prompts_mode": true)", no,
                "precomputed_prompts_mode");
  expectRefusal(noLstm + R"(, "words_splitter_type": "spacy")", no,
                "supported: whitespace");
  expectRefusal(noLstm + R"(, "span_mode": "conv_max")", no,
                "supported: token_level, marker");
  expectRefusal(noLstm + R"(, "subtoken_pooling": "sum")", no, "first");
  expectRefusal(noLstm + R"(, "span_mode": "token_level",
                           "represent_spans": true)",
                no, "represent_spans");
  expectRefusal(noLstm + R"(, "ent_token": "")", no, "ent_token");
}

TEST(GlinerConfig, rejects_malformed_values) {
  const Status no = Status::Rejected;
  expectRefusal("\"num_rnn_layers\": \"0\"", no, "num_rnn_layers");
  expectRefusal(noLstm + R"(, "hidden_size": 0)", no, "hidden_size");
  expectRefusal(noLstm + R"(, "max_width": 0)", no, "max_width");
  expectRefusal(noLstm + R"(, "max_len": 0)", no, "max_len");
  expectRefusal(noLstm + R"(, "encoder_config": "bert")", no, "an object");
  expectRefusal(noLstm + R"(, "embed_ent_token": 1)", no, "embed_ent_token");
}
