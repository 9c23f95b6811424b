// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cross-encoders: the entry and the template for their files, and errors.
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// A cross-encoder by the tokens 3 and 5.
struct ScoringFolder : PipelineFolder {
  ScoringFolder() {
    writeModules({"Transformer", "LogitScore"});
    write("m1/config.json", R"({"true_token_id": 3, "false_token_id": 5})");
    write("config_sentence_transformers.json",
          R"({"model_type": "CrossEncoder"})");
    writeTransformer("");
  }
  void writeTransformer(const std::string &more) const {
    write("sentence_bert_config.json",
          R"({"transformer_task": "text-generation")" + more + "}");
  }
  void writeMessages(const std::string &kwargs) const {
    writeTransformer(R"(, "module_output_name": "causal_logits",
      "modality_config": {"text": {"method": "forward", "method_output_name": "logits"},
        "message": {"method": "forward", "method_output_name": "logits", "format": "flat"}},
      "processing_kwargs": )" +
                     kwargs);
  }
};

} // namespace

TEST(PipelinePairs, logit_score_has_an_entry) {
  ScoringFolder folder;
  auto found = folder.read();
  ASSERT_TRUE(found && *found) << found.error().message;
  EXPECT_EQ((*found)->refusal, "");
  EXPECT_EQ((*found)->entry, "rerank");
  EXPECT_EQ((*found)->scoringHead, "causal_lm");
  EXPECT_EQ((*found)->scoreTokens, (std::vector<int64_t>{3, 5}));
  ASSERT_TRUE((*found)->pairs);
  EXPECT_EQ((*found)->pairs->entry, "rerank");
  EXPECT_FALSE((*found)->pairs->plain);
}

TEST(PipelinePairs, classification_needs_no_module) {
  PipelineFolder folder;
  folder.writeModules({"Transformer"});
  folder.write("sentence_bert_config.json",
               R"({"transformer_task": "sequence-classification"})");
  folder.write("config_sentence_transformers.json",
               R"({"model_type": "CrossEncoder",
                   "activation_fn": "torch.nn.modules.linear.Identity"})");
  auto found = folder.read();
  ASSERT_TRUE(found && *found) << found.error().message;
  EXPECT_EQ((*found)->refusal, "");
  EXPECT_EQ((*found)->entry, "");
  EXPECT_EQ((*found)->scoringHead, "sequence_classification");
  EXPECT_EQ((*found)->activation, "torch.nn.modules.linear.Identity");
}

TEST(PipelinePairs, templates_get_variables_and_special_tokens) {
  ScoringFolder folder;
  folder.writeMessages(
      R"({"chat_template": {"add_generation_prompt": true, "x": "y"}})");
  folder.write("tokenizer_config.json",
               R"({"bos_token": {"content": "<s>"}, "chat_template": null})");
  folder.write("chat_template.jinja",
               "{{ bos_token }}{{ x }}{{ messages | map(attribute='content') "
               "| join('-') }}{% if add_generation_prompt %}:{% endif %}");
  auto found = folder.read();
  ASSERT_TRUE(found && *found) << found.error().message;
  EXPECT_EQ((*found)->refusal, "");
  ASSERT_TRUE((*found)->pairs->plain && (*found)->pairs->prompted);
  using Texts = std::vector<std::string>;
  EXPECT_EQ((*found)->pairs->plain->literals, (Texts{"<s>y", "-", ":"}));
  EXPECT_EQ((*found)->pairs->prompted->slots,
            (Texts{"prompt", "query", "document"}));
}

TEST(PipelinePairs, refused_templates) {
  ScoringFolder folder;
  folder.writeMessages("{}");
  EXPECT_NE(folder.getRefusal().find("no chat template 'default'"),
            std::string::npos);
  folder.write("chat_template.jinja", "{{ messages[0].content }}");
  EXPECT_EQ(folder.getRefusal(),
            "the chat template is not supported: it leaves out the message of "
            "the role 'document'");
  folder.writeMessages(R"({"text": {"max_length": 9}})");
  EXPECT_NE(folder.getRefusal().find("'text' is not supported"),
            std::string::npos);
  folder.writeMessages(R"({"chat_template": {"max_length": 9}})");
  EXPECT_NE(folder.getRefusal().find("'max_length' is not supported"),
            std::string::npos);
  folder.writeMessages("{}");
  folder.write("chat_template.jinja", "{{");
  EXPECT_FALSE(folder.read());
}

TEST(PipelinePairs, refused_modules) {
  ScoringFolder folder;
  folder.write("m1/config.json",
               R"({"true_token_id": 3, "module_input_name": "scores"})");
  EXPECT_NE(folder.getRefusal().find("'scores' is not supported; supported: "
                                     "causal_logits"),
            std::string::npos);
  folder.write("m1/config.json", R"({"false_token_id": 3})");
  EXPECT_FALSE(folder.read());
  folder.write("m1/config.json", R"({"true_token_id": -1})");
  EXPECT_FALSE(folder.read());
  folder.write("m1/config.json", R"({"true_token_id": 3})");
  folder.write("sentence_bert_config.json", "{}");
  EXPECT_NE(folder.getError().find("reads 'causal_logits', which no module "
                                   "before it makes"),
            std::string::npos);
  folder.writeModules({"Transformer"});
  folder.writeTransformer("");
  EXPECT_NE(folder.getRefusal().find("no module makes 'scores'"),
            std::string::npos);
}
