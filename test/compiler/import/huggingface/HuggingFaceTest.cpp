// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Invalid or unsupported model folders: each returns a one-line error with the
// right status. Merely unusual folders import.
#include "test/compiler/import/TinyBert.h"

using namespace transom;
using namespace transom::testing;

namespace {

//===--- Files -----------------------------------------------------------===//

TEST(HuggingFace, folder_without_weights) {
  ModelFolder folder;
  folder.write("config.json", tinyBertConfig());
  expectError(folder.path, Status::Unavailable, {"model.safetensors"});
}
TEST(HuggingFace, pickles_are_named_and_not_opened) {
  ModelFolder folder;
  folder.write("config.json", tinyBertConfig());
  folder.write("pytorch_model.bin", "x");
  Imported result(folder.path);
  EXPECT_FALSE(result.module);
  EXPECT_NE(result.error.message.find("pytorch_model.bin"), std::string::npos)
      << result.error.message;
}
TEST(HuggingFace, shard_outside_the_folder) {
  ModelFolder folder;
  folder.write("config.json", tinyBertConfig());
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a": "../model.safetensors"}})");
  expectError(folder.path, Status::Rejected, {"../model.safetensors"});
}

//===--- Keys ------------------------------------------------------------===//

TEST(HuggingFace, model_type) {
  expectTinyBertError("{}", Status::Rejected, {"missing key 'model_type'"});
  expectTinyBertError(replaced(tinyBertConfig(), "\"bert\"", "\"bort\""),
                      Status::Unsupported,
                      {"'/model_type'", "unsupported model_type 'bort'", "bert",
                       "distilbert", "qwen3", "xlm-roberta"});
  expectTinyBertError(replaced(tinyBertConfig(), "\"bert\"", "3"),
                      Status::Rejected, {"expected a string"});
}
TEST(HuggingFace, architecture) {
  expectTinyBertError(
      tinyBertConfig(R"("architectures": ["BertForMultipleChoice"])"),
      Status::Unsupported,
      {"'/architectures/0'", "BertForMultipleChoice", "BertForMaskedLM"});
  expectTinyBertError(tinyBertConfig(R"("architectures": "BertModel")"),
                      Status::Rejected, {"'/architectures'"});
}
TEST(HuggingFace, heads_that_do_not_divide) {
  expectTinyBertError(
      tinyBertConfig("", replaced(tinyBertSizes, "heads\": 2", "heads\": 3")),
      Status::Rejected, {"'/num_attention_heads'", "3 does not divide", "8"});
}
TEST(HuggingFace, what_is_not_supported) {
  const std::pair<const char *, const char *> cases[] = {
      {"\"hidden_act\": \"swish2\"", "unsupported activation 'swish2'"},
      {"\"is_decoder\": true", "is_decoder"},
      {"\"add_cross_attention\": true", "add_cross_attention"},
      {"\"position_embedding_type\": \"relative_key\"", "relative_key"},
      {"\"pruned_heads\": {\"0\": [1]}", "pruned heads"},
      {"\"quantization_config\": {\"quant_method\": \"fp8\"}", "quantized"}};
  for (const auto &[key, part] : cases)
    expectTinyBertError(tinyBertConfig(key), Status::Unsupported, {part});
}
TEST(HuggingFace, labels) {
  const std::string head =
      R"("architectures": ["BertForTokenClassification"], "id2label": )";
  expectTinyBertError(tinyBertConfig(head + R"({"0": "a", "b": "b"})"),
                      Status::Rejected, {"'/id2label/b'"});
  expectTinyBertError(tinyBertConfig(head + R"({"0": {}})"), Status::Rejected,
                      {"'/id2label/0'", "expected a label"});
  expectTinyBertError(tinyBertConfig(head + "{}"), Status::Rejected,
                      {"no labels"});
}
TEST(HuggingFace, heads_with_a_fixed_number_of_labels) {
  const std::string questions =
      R"("architectures": ["BertForQuestionAnswering"], )";
  expectTinyBertError(
      tinyBertConfig(questions +
                     R"("id2label": {"0": "A", "1": "B", "2": "C"})"),
      Status::Unsupported,
      {"'/id2label'", "3 labels", "'ForQuestionAnswering'", "supported: 2"});
  expectTinyBertError(tinyBertConfig(questions + R"("num_labels": 1)"),
                      Status::Unsupported, {"'/num_labels'", "1 labels"});
}
TEST(HuggingFace, no_position_behind_the_padding_id) {
  expectTinyBertError(
      R"({"model_type": "roberta", "max_position_embeddings": 2})",
      Status::Rejected, {"'/max_position_embeddings'", "padding id 1"});
}

//===--- Unusual, but right ----------------------------------------------===//

TEST(HuggingFace, half_types_and_shards) {
  ModelFolder folder;
  Shapes all = tinyBert(), first, second;
  std::string map;
  for (const auto &[name, shape] : all) {
    bool one = map.size() % 2;
    (one ? first : second)[name] = shape;
    map += (map.empty() ? "" : ",") + ("\"" + name + "\": \"") +
           (one ? "a.safetensors" : "b.safetensors") + "\"";
  }
  folder.writeTensors(first, "a.safetensors", DType::F16);
  folder.writeTensors(second, "b.safetensors", DType::BF16);
  folder.write("model.safetensors.index.json",
               "{\"weight_map\": {" + map + "}}");
  folder.write("config.json", tinyBertConfig());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.dtypes["F16"] + result.info.dtypes["BF16"], all.size());
}
TEST(HuggingFace, absent_keys_have_the_defaults_of_their_class) {
  ModelFolder folder;
  folder.writeTensors({{"x", {1}}});
  folder.write("config.json", R"({"model_type": "roberta"})");
  expectError(
      folder.path, Status::Rejected,
      {"'embeddings.word_embeddings.weight' is missing", "[50265, 768]"});
  folder.write("config.json",
               R"({"model_type": "distilbert", "hidden_size": 24})");
  expectError(folder.path, Status::Rejected, {"[30522, 24]"});
}
TEST(HuggingFace, the_limit_of_positions_is_in_the_module) {
  ModelFolder folder;
  folder.writeTensors(tinyBert());
  folder.write("config.json", replaced(tinyBertConfig("\"pad_token_id\": 2"),
                                       "\"bert\"", "\"roberta\""));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string text = result.text();
  EXPECT_NE(text.find("seq = {max = 3 : i64}"), std::string::npos) << text;
  EXPECT_NE(text.find("rule = \"nonpad_rank\""), std::string::npos);
}

} // namespace
