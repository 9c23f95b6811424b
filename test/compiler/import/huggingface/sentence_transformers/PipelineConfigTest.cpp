// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// modules.json and config_sentence_transformers.json: module order, the
// resulting entry, prompts, and errors.
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

static std::string getEntry(const std::vector<std::string> &types) {
  PipelineFolder folder;
  folder.writeModules(types);
  for (size_t i = 1; i != types.size(); ++i)
    folder.write("m" + std::to_string(i) + "/config.json", "{}");
  auto found = folder.read();
  EXPECT_TRUE(found) << found.error().message;
  return found ? (*found)->entry : "";
}

TEST(PipelineConfig, is_absent_without_modules) {
  PipelineFolder folder;
  auto found = folder.read();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->has_value());
}

TEST(PipelineConfig, chooses_the_entry_by_what_modules_make) {
  EXPECT_EQ(getEntry({"Transformer", "Pooling"}), "embed");
  EXPECT_EQ(getEntry({"MLMTransformer", "SpladePooling"}), "sparse");
  EXPECT_EQ(getEntry({"Transformer", "MultiVectorMask"}), "token_embeddings");
  EXPECT_EQ(getEntry({"Transformer"}), "");
}

TEST(PipelineConfig, normalizes_tokens_that_are_compared) {
  PipelineFolder folder;
  folder.writeModules({"Transformer", "pylate.models.Dense.Dense"});
  folder.write("m1/config.json", R"({"in_features": 4, "out_features": 2})");
  auto found = folder.read();
  ASSERT_TRUE(found && *found) << found.error().message;
  ASSERT_EQ((*found)->modules.size(), 3u);
  EXPECT_TRUE((*found)->modules[1].readsTokens);
  EXPECT_TRUE((*found)->endsNormalized());
  EXPECT_TRUE((*found)->modules[2].writesTokens);
}

TEST(PipelineConfig, rejects_modules_in_an_order_that_makes_no_sense) {
  PipelineFolder folder;
  folder.write("modules.json", "{}");
  EXPECT_EQ(folder.getError(),
            "modules.json:1:1: expected an array, got an object");
  folder.writeModules({"Transformer", "Normalize"});
  EXPECT_NE(folder.getError().find("module 'm1' reads 'sentence_embedding', "
                                   "which no module before it makes"),
            std::string::npos);
  folder.writeModules({"Pooling", "Transformer"});
  folder.write("config.json", "{}");
  EXPECT_NE(folder.getError().find("module 'Pooling' reads 'token_embeddings'"),
            std::string::npos);
  folder.writeModules({"Dropout", "Transformer"});
  EXPECT_NE(folder.getError().find("is a Transformer after another module"),
            std::string::npos);
  folder.write("modules.json", "[]");
  EXPECT_NE(folder.getError().find("the first module is not a Transformer"),
            std::string::npos);
}

TEST(PipelineConfig, refuses_modules_and_keys_by_name) {
  // Module classes.
  PipelineFolder folder;
  folder.writeModules({"Transformer", "Router"});
  EXPECT_EQ(folder.getRefusal().substr(0, 78),
            "modules.json: module 'sentence_transformers.models.Router' is not "
            "supported; s");
  folder.writeModules({"custom_code.Transformer"});
  EXPECT_EQ(folder.getRefusal().substr(0, 62),
            "modules.json: module 'custom_code.Transformer' is not supporte");
  // Keys and files of modules.
  folder.write("modules.json",
               R"([{"type": "sentence_transformers.models.Transformer",
                    "path": "", "weight": 2}])");
  EXPECT_EQ(folder.getRefusal(), "modules.json: key 'weight' is not known; "
                                 "known: idx, name, path, type, kwargs");
  folder.writeModules({"Transformer", "Pooling"});
  EXPECT_EQ(folder.getRefusal(),
            "modules.json: module 'm1' has no m1/config.json");
  folder.write("m1/config.json", "{}");
  EXPECT_EQ(folder.getRefusal(), "");
  // Keys of the pipeline.
  folder.write("config_sentence_transformers.json", R"({"pooler": 1})");
  EXPECT_EQ(folder.getRefusal().substr(0, 63),
            "config_sentence_transformers.json: key 'pooler' is not known; k");
  folder.write("config_sentence_transformers.json",
               R"({"model_type": "Reranker"})");
  EXPECT_NE(folder.getRefusal().find("'Reranker' is not supported"),
            std::string::npos);
}

TEST(PipelineConfig, reads_prompts) {
  // Write all supported keys.
  PipelineFolder folder;
  folder.writeModules({"Transformer", "Pooling"});
  folder.write("m1/config.json", "{}");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"passage": "p: ", "query": null},
                   "default_prompt_name": "passage", "truncate_dim": 8, "max_active_dims": 3,
                   "similarity_fn_name": "dot"})");
  auto found = folder.read();
  ASSERT_TRUE(found && *found) << found.error().message;
  // Each key has its value.
  const PipelineConfig &config = **found;
  using Prompts = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(config.prompts,
            (Prompts{{"passage", "p: "}, {"query", ""}, {"document", ""}}));
  EXPECT_EQ(config.defaultPrompt, "passage");
  EXPECT_EQ(config.similarity, "dot");
  EXPECT_EQ(config.dim, 8);
  EXPECT_EQ(config.maxActive, 3);
  EXPECT_EQ(config.files,
            (std::vector<std::string>{"modules.json",
                                      "config_sentence_transformers.json",
                                      "m1/config.json"}));
  // A default prompt must exist.
  folder.write("config_sentence_transformers.json",
               R"({"default_prompt_name": "none"})");
  EXPECT_NE(folder.getError().find("'/default_prompt_name': no prompt 'none'; "
                                   "known: query, document"),
            std::string::npos);
}
