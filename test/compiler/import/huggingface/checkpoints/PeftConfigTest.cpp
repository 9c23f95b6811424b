// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys in adapter_config.json: read, rejected and ignored keys.
#include "compiler/import/huggingface/checkpoints/PeftConfig.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

Result<PeftConfig> read(const std::string &keys) {
  TempFolder folder;
  folder.write(adapterConfig, R"({"peft_type": "LORA")" +
                                  (keys.empty() ? "" : ", " + keys) + "}");
  return readPeftConfig(folder / adapterConfig);
}

/// Returns an error's status and message, without the file.
std::string refuse(const std::string &keys) {
  Result<PeftConfig> config = read(keys);
  if (config)
    return "read";
  const std::string text = config.error().message;
  return (config.error().status == Status::Unsupported ? "4" : "3") +
         text.substr(text.find(": '"));
}

} // namespace

TEST(PeftConfig, ranks_and_scales_go_by_module) {
  Result<PeftConfig> config = read(
      R"("r": 4, "lora_alpha": 6, "rank_pattern": {"up_proj": 2, ".*": 3},
         "alpha_pattern": {"layers\\.\\d\\.up_proj": 8})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->getRank("layers.1.up_proj"), 2);
  EXPECT_EQ(config->getRank("layers.1.q_proj"), 3);
  EXPECT_EQ(config->getScale("layers.1.up_proj"), 4);
  EXPECT_EQ(config->getScale("layers.11.up_proj"), 3);
  EXPECT_EQ(read("")->getRank("q"), 8);
  EXPECT_EQ(read("")->getScale("q"), 1);
  EXPECT_EQ(
      read(R"("r": 4, "lora_alpha": 6, "use_rslora": true)")->getScale("q"), 3);
}

TEST(PeftConfig, modules_are_named_by_the_ends_of_their_names) {
  Result<PeftConfig> config =
      read(R"("modules_to_save": ["classifier", "embed_tokens"],
              "target_parameters": ["q_proj.weight"])");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->isSaved("model.embed_tokens"));
  EXPECT_TRUE(config->isSaved("classifier.dense"));
  EXPECT_FALSE(config->isSaved("lm_head"));
  EXPECT_TRUE(config->isParameter("layers.0.q_proj"));
  EXPECT_FALSE(config->isParameter("layers.0.k_proj"));
  config = read(R"("r": 4, "lora_alpha": 4, "target_parameters":
                   ["q_proj.weight"], "alpha_pattern": {"[qk]_proj": 8})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->getScale("q_proj"), 1);
  EXPECT_EQ(config->getScale("k_proj"), 2);
}

TEST(PeftConfig, tokens_of_tables) {
  EXPECT_EQ(read("")->findTokens("x"), nullptr);
  EXPECT_EQ(read(R"("trainable_token_indices": [])")->findTokens("x"), nullptr);
  Result<PeftConfig> all = read(R"("trainable_token_indices": [3, 1])");
  EXPECT_EQ(all->findTokens("x")->ids, (std::vector<int64_t>{3, 1}));
  Result<PeftConfig> one =
      read(R"("trainable_token_indices": {"lm_head": [3]})");
  EXPECT_EQ(one->findTokens("lm_head")->ids, std::vector<int64_t>{3});
  EXPECT_EQ(one->findTokens("embed_tokens"), nullptr);
  EXPECT_EQ(refuse(R"("trainable_token_indices": [-1])").substr(0, 4), "3: '");
}

TEST(PeftConfig, refuses_what_it_does_not_merge) {
  for (const char *key : {"use_qalora", "kasa_config", "layer_replication"})
    EXPECT_EQ(refuse('"' + std::string(key) + R"(": [[1, 2]])"),
              "4: '/" + std::string(key) +
                  "': is not supported; supported: null or false");
  EXPECT_EQ(refuse(R"("target_parameters": ["experts.gate_up_proj"])"),
            "4: '/target_parameters': parameter 'experts.gate_up_proj' is not "
            "supported; supported: the weights of modules, 'MODULE.weight'");
  EXPECT_EQ(refuse(R"("init_lora_weights": "pissa_niter_16")").substr(0, 64),
            "4: '/init_lora_weights': 'pissa_niter_16' changes the model's ow");
  EXPECT_EQ(refuse(R"("rank_pattern": {"(?i)Q": 2})").substr(0, 52),
            "4: '/rank_pattern/(?i)Q': pattern '(?i)Q' has look-a");
  EXPECT_EQ(refuse(R"("bias": "some")"),
            "3: '/bias': unknown bias 'some'; expected none, all or lora_only");
  EXPECT_EQ(refuse(R"("use_dora": "yes")").substr(0, 15), "3: '/use_dora':");
}

TEST(PeftConfig, keys_that_are_not_known_give_a_note) {
  Result<PeftConfig> config =
      read(R"("a_new_key": 1, "another": null, "lora_dropout": 0.1, "r": 2)");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->notes, std::vector<std::string>{
                               "adapter_config.json: key 'a_new_key' is not "
                               "known and was ignored"});
}
