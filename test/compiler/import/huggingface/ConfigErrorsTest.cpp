// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// config.json and checkpoints that are wrong or not built: each gives one line
// with the right status, and those that are merely unusual import.
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// Shapes of a bare BERT with one layer of width 8.
Shapes tinyBert(const std::string &prefix = "") {
  Shapes shapes = {{"embeddings.word_embeddings.weight", {11, 8}},
                   {"embeddings.position_embeddings.weight", {6, 8}},
                   {"embeddings.token_type_embeddings.weight", {2, 8}}};
  auto linear = [&](const std::string &name, int64_t out, int64_t in) {
    shapes[name + ".weight"] = {out, in};
    shapes[name + ".bias"] = {out};
  };
  auto norm = [&](const std::string &name) {
    shapes[name + ".weight"] = shapes[name + ".bias"] = {8};
  };
  norm("embeddings.LayerNorm");
  const std::string layer = "encoder.layer.0.";
  for (const char *part : {"attention.self.query", "attention.self.key",
                           "attention.self.value", "attention.output.dense"})
    linear(layer + part, 8, 8);
  norm(layer + "attention.output.LayerNorm");
  linear(layer + "intermediate.dense", 12, 8);
  linear(layer + "output.dense", 8, 12);
  norm(layer + "output.LayerNorm");
  Shapes prefixed;
  for (const auto &[name, shape] : shapes)
    prefixed[prefix + name] = shape;
  return prefixed;
}

const char *sizes =
    R"("vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1,
       "num_attention_heads": 2, "intermediate_size": 12,
       "max_position_embeddings": 6)";

/// A config of the tiny BERT; later keys are added, `instead` replaces the
/// sizes.
std::string config(const std::string &more = "",
                   const std::string &instead = sizes) {
  return R"({"model_type": "bert", )" + instead +
         (more.empty() ? "" : ", " + more) + "}";
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

void expectConfigError(const std::string &text, Status status,
                       const std::vector<std::string> &parts) {
  ModelFolder folder;
  folder.writeTensors(tinyBert());
  folder.write("config.json", text);
  std::vector<std::string> all = parts;
  all.push_back("config.json");
  expectError(folder.path, status, all);
}

void expectTensorsError(const Shapes &shapes, Status status,
                        const std::vector<std::string> &parts,
                        DType dtype = DType::F32) {
  ModelFolder folder;
  folder.writeTensors(shapes, "model.safetensors", dtype);
  folder.write("config.json", config());
  expectError(folder.path, status, parts);
}

//===--- Files -----------------------------------------------------------===//

TEST(ConfigErrors, missing_folder) {
  expectError("/no/such/folder", Status::Unavailable, {"/no/such/folder"});
}
TEST(ConfigErrors, folder_without_a_model) {
  ModelFolder folder;
  expectError(folder.path, Status::Unavailable,
              {"no config.json and no graph.json"});
}
TEST(ConfigErrors, folder_without_weights) {
  ModelFolder folder;
  folder.write("config.json", config());
  expectError(folder.path, Status::Unavailable, {"model.safetensors"});
}
TEST(ConfigErrors, pickles_are_named_and_not_opened) {
  ModelFolder folder;
  folder.write("config.json", config());
  folder.write("pytorch_model.bin", "x");
  Imported result(folder.path);
  EXPECT_FALSE(result.module);
  EXPECT_NE(result.error.message.find("pytorch_model.bin"), std::string::npos)
      << result.error.message;
}
TEST(ConfigErrors, malformed) {
  expectConfigError("{\"model_type\": }", Status::Rejected, {":1:16"});
  expectConfigError("", Status::Rejected, {});
  expectConfigError("[1]", Status::Rejected, {"expected an object"});
}
TEST(ConfigErrors, too_deep) {
  expectConfigError("{\"a\": " + std::string(100, '[') + std::string(100, ']') +
                        "}",
                    Status::Rejected, {"64"});
}
TEST(ConfigErrors, duplicate_key) {
  expectConfigError(config("\"hidden_size\": 8"), Status::Rejected,
                    {"hidden_size"});
}
TEST(ConfigErrors, shard_outside_the_folder) {
  ModelFolder folder;
  folder.write("config.json", config());
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a": "../model.safetensors"}})");
  expectError(folder.path, Status::Rejected, {"../model.safetensors"});
}

//===--- Keys ------------------------------------------------------------===//

TEST(ConfigErrors, model_type) {
  expectConfigError("{}", Status::Rejected, {"missing key 'model_type'"});
  expectConfigError(replaced(config(), "\"bert\"", "\"bort\""),
                    Status::Unsupported,
                    {"'/model_type'", "unsupported model_type 'bort'", "bert",
                     "distilbert", "qwen3", "xlm-roberta"});
  expectConfigError(replaced(config(), "\"bert\"", "3"), Status::Rejected,
                    {"expected a string"});
}
TEST(ConfigErrors, architecture) {
  expectConfigError(
      config(R"("architectures": ["BertForQuestionAnswering"])"),
      Status::Unsupported,
      {"'/architectures/0'", "BertForQuestionAnswering", "BertForMaskedLM"});
  expectConfigError(config(R"("architectures": "BertModel")"), Status::Rejected,
                    {"'/architectures'"});
}
TEST(ConfigErrors, heads_that_do_not_divide) {
  expectConfigError(config("", replaced(sizes, "heads\": 2", "heads\": 3")),
                    Status::Rejected,
                    {"'/num_attention_heads'", "3 does not divide", "8"});
}
TEST(ConfigErrors, numbers_out_of_range) {
  for (const char *bad :
       {"0", "-1", "1e3", "\"8\"", "4294967296", "99999999999999999999"})
    expectConfigError(
        config("", replaced(sizes, "\"hidden_size\": 8",
                            "\"hidden_size\": " + std::string(bad))),
        Status::Rejected, {"'/hidden_size'"});
  expectConfigError(
      config("", replaced(sizes, "layers\": 1", "layers\": 4097")),
      Status::Rejected, {"'/num_hidden_layers'", "4096"});
  expectConfigError(config("\"layer_norm_eps\": -1"), Status::Rejected,
                    {"'/layer_norm_eps'"});
}
TEST(ConfigErrors, what_is_not_supported) {
  const std::pair<const char *, const char *> cases[] = {
      {"\"hidden_act\": \"swish2\"", "unsupported activation 'swish2'"},
      {"\"is_decoder\": true", "is_decoder"},
      {"\"add_cross_attention\": true", "add_cross_attention"},
      {"\"position_embedding_type\": \"relative_key\"", "relative_key"},
      {"\"pruned_heads\": {\"0\": [1]}", "pruned heads"},
      {"\"quantization_config\": {\"bits\": 4}", "quantized"}};
  for (const auto &[key, part] : cases)
    expectConfigError(config(key), Status::Unsupported, {part});
}
TEST(ConfigErrors, labels) {
  const std::string head =
      R"("architectures": ["BertForTokenClassification"], "id2label": )";
  expectConfigError(config(head + R"({"0": "a", "2": "b"})"), Status::Rejected,
                    {"'/id2label/2'"});
  expectConfigError(config(head + R"({"0": "a", "00": "b"})"), Status::Rejected,
                    {"'/id2label/00'"});
  expectConfigError(config(head + R"({"0": 1})"), Status::Rejected,
                    {"'/id2label/0'", "expected a string"});
  expectConfigError(config(head + "{}"), Status::Rejected, {"no labels"});
}
TEST(ConfigErrors, no_position_behind_the_padding_id) {
  expectConfigError(
      R"({"model_type": "roberta", "max_position_embeddings": 2})",
      Status::Rejected, {"'/max_position_embeddings'", "padding id 1"});
}

//===--- Tensors ---------------------------------------------------------===//

TEST(ConfigErrors, missing_tensor) {
  Shapes shapes = tinyBert();
  shapes.erase("encoder.layer.0.attention.self.key.weight");
  expectTensorsError(
      shapes, Status::Rejected,
      {"'encoder.layer.0.attention.self.key.weight' is missing", "[8, 8]"});
  shapes = tinyBert("bert.");
  shapes.erase("bert.encoder.layer.0.output.LayerNorm.bias");
  expectTensorsError(shapes, Status::Rejected,
                     {"'bert.encoder.layer.0.output.LayerNorm.bias'"});
}
TEST(ConfigErrors, misshaped_tensor) {
  Shapes shapes = tinyBert();
  shapes["embeddings.word_embeddings.weight"] = {12, 8};
  expectTensorsError(shapes, Status::Rejected,
                     {"model.safetensors",
                      "'embeddings.word_embeddings.weight'", "[12, 8]",
                      "[11, 8]"});
}
TEST(ConfigErrors, tensors_of_a_type_that_is_not_built) {
  expectTensorsError(tinyBert(), Status::Unsupported,
                     {"dtype I32", "supported: F32"}, DType::I32);
}

//===--- Unusual, but right ----------------------------------------------===//

TEST(Config, names_may_carry_the_prefix_of_the_base_model) {
  ModelFolder folder;
  folder.writeTensors(tinyBert("bert."));
  folder.write("config.json", config());
  Imported result(folder.path);
  EXPECT_TRUE(result.module) << result.error.message;
}
TEST(Config, unknown_keys_and_unused_tensors_are_listed) {
  ModelFolder folder;
  Shapes shapes = tinyBert();
  shapes["embeddings.position_ids"] = {1, 6};
  folder.writeTensors(shapes);
  folder.write("config.json",
               config(R"("wibble": 1, "torch_dtype": "float16", "_x": 2)"));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.unusedTensors,
            std::vector<std::string>{"embeddings.position_ids"});
  ASSERT_EQ(result.info.notes.size(), 1u);
  EXPECT_NE(result.info.notes[0].find("'wibble'"), std::string::npos);
}
TEST(Config, half_types_and_shards) {
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
  folder.write("config.json", config());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(result.info.dtypes["F16"] + result.info.dtypes["BF16"], all.size());
}
TEST(Config, absent_keys_have_the_defaults_of_their_class) {
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
TEST(Config, the_limit_of_positions_is_in_the_module) {
  ModelFolder folder;
  folder.writeTensors(tinyBert());
  folder.write("config.json", replaced(config("\"pad_token_id\": 2"),
                                       "\"bert\"", "\"roberta\""));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string text = result.text();
  EXPECT_NE(text.find("seq = {max = 3 : i64}"), std::string::npos) << text;
  EXPECT_NE(text.find("rule = \"nonpad_rank\""), std::string::npos);
}

} // namespace
