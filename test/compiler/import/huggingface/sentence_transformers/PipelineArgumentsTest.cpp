// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments with which a Transformer loads its model, config and tokenizer.
// test/goldens/pipelines has folders with arguments that change embeddings.
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

namespace {
/// A pipeline whose Transformer has this config.
class Arguments : public PipelineFolder {
public:
  explicit Arguments(const std::string &config) {
    writeModules({"Transformer", "Pooling"});
    write("m1/config.json", "{}");
    write("sentence_bert_config.json", config);
  }
};
} // namespace

TEST(PipelineArguments, without_effect) {
  for (
      const char *config :
      {R"({"model_args": {}, "tokenizer_args": {}, "config_args": {}})",
       R"({"model_kwargs": null, "processor_kwargs": {"pad_token": null}})",
       R"({"model_kwargs": {"attn_implementation": "eager",
            "torch_dtype": "bfloat16", "dtype": "auto", "device_map": {"": 0},
            "trust_remote_code": true, "quantization_config": null}})",
       R"({"config_kwargs": {"output_attentions": [1], "use_cache": false}})",
       R"({"processor_kwargs": {"use_fast": true, "padding_side": "left"}})"}) {
    EXPECT_EQ(Arguments(config).getRefusal(), "") << config;
  }
}

TEST(PipelineArguments, what_is_not_supported_is_refused_by_name) {
  const std::pair<const char *, const char *> cases[] = {
      {R"({"model_kwargs": {"load_in_8bit": true}})",
       "'/model_kwargs': argument 'load_in_8bit' is not supported; supported: "
       "dtype"},
      {R"({"model_args": {"variant": "fp16"}, "model_kwargs": {}})",
       "'/model_args': argument 'variant' is not supported"},
      {R"({"tokenizer_args": {"tokenizer_file": "x"}})",
       "'/tokenizer_args': argument 'tokenizer_file' is not supported"},
      {R"({"config_args": {"rope_scaling": {"type": "linear"}}})",
       "'/config_args/rope_scaling': argument 'rope_scaling' is an object; "
       "supported: numbers, booleans and strings"}};
  for (const auto &[config, part] : cases) {
    const std::string refusal = Arguments(config).getRefusal();
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal;
  }
  EXPECT_NE(Arguments(R"({"model_args": [1]})").getError().find("an object"),
            std::string::npos);
}

TEST(PipelineArguments, the_old_name_wins) {
  Arguments folder(R"({"config_args": {"hidden_act": "relu"},
                       "config_kwargs": {"hidden_act": "silu"},
                       "tokenizer_args": {"model_max_length": 5}})");
  auto read = folder.read();
  ASSERT_TRUE(read);
  ASSERT_TRUE((*read)->tokenizerArguments);
  EXPECT_EQ(
      *(*read)->tokenizerArguments->value.find("model_max_length")->asInt(), 5);
  auto config = readConfigArguments(folder.path);
  ASSERT_TRUE(config && *config);
  EXPECT_EQ(*(*config)->value.find("hidden_act")->asString(), "relu");
}

TEST(PipelineArguments, a_folder_without_a_transformer_has_none) {
  Arguments folder(R"({"config_kwargs": {"hidden_act": "relu"}})");
  folder.write("modules.json", "[]");
  auto config = readConfigArguments(folder.path);
  ASSERT_TRUE(config);
  EXPECT_FALSE(*config);
}
