// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The configs for each module kind.
#include "test/compiler/import/huggingface/sentence_transformers/PipelineFolder.h"

using namespace transom;
using namespace transom::testing;

namespace {
/// A pipeline whose second module has this config.
class SecondModule : public PipelineFolder {
public:
  SecondModule(const std::string &type, const std::string &config,
               const std::string &transformer = "Transformer") {
    writeModules({transformer, type});
    write("m1/config.json", config);
  }
  PipelineModule get() const {
    auto found = read();
    EXPECT_TRUE(found) << found.error().message;
    return found ? (*found)->modules[1] : PipelineModule();
  }
};
} // namespace

using Kinds = std::vector<std::string>;

TEST(PipelineModules, pooling_by_names_and_by_flags) {
  auto get = [](const char *config) {
    return SecondModule("Pooling", config).get().pooling;
  };
  EXPECT_EQ(get(R"({"pooling_mode": "lasttoken"})"), Kinds{"last"});
  EXPECT_EQ(get(R"({"pooling_mode": ["weightedmean", "cls"]})"),
            (Kinds{"weighted_mean", "first_key"}));
  EXPECT_EQ(get(R"({"pooling_mode_lasttoken": true,
                    "pooling_mode_mean_tokens": true,
                    "pooling_mode_cls_token": true})"),
            (Kinds{"first_key", "mean", "last"}));
  EXPECT_EQ(get(R"({"pooling_mode_mean_tokens": false})"), Kinds{"mean"});
  EXPECT_EQ(get(R"({"pooling_mode": "max", "pooling_mode_cls_token": true})"),
            Kinds{"max"});
  EXPECT_NE(SecondModule("Pooling", R"({"pooling_mode": "best"})")
                .getError()
                .find("unknown pooling mode 'best'; known: cls, max"),
            std::string::npos);
}

TEST(PipelineModules, pooling_without_the_prompt) {
  SecondModule folder("Pooling", R"({"include_prompt": false})");
  EXPECT_FALSE((*folder.read())->includesPrompt);
}

TEST(PipelineModules, dense_needs_a_value_before_it) {
  const char *config = R"({"in_features": 4, "out_features": 2})";
  EXPECT_NE(SecondModule("Dense", config).getError().find("reads"),
            std::string::npos);
  PipelineModule dense =
      SecondModule("Dense", R"({"in_features": 4, "out_features": 2,
        "activation_function": "torch.nn.modules.activation.GELU",
        "use_residual": true, "bias": false,
        "module_input_name": "token_embeddings"})")
          .get();
  EXPECT_EQ(dense.activation, TorchActivation::GELU);
  EXPECT_TRUE(dense.readsTokens && dense.writesTokens && dense.residual);
  EXPECT_FALSE(dense.bias);
  EXPECT_EQ(dense.in, 4);
  EXPECT_EQ(dense.out, 2);
}

TEST(PipelineModules, dense_has_the_default_of_its_class) {
  PipelineModule dense =
      SecondModule("pylate.models.Dense.Dense",
                   R"({"in_features": 4, "out_features": 2})")
          .get();
  EXPECT_EQ(dense.activation, TorchActivation::Tanh);
  EXPECT_TRUE(dense.bias);
  SecondModule other("pylate.models.Dense.Dense",
                     R"({"in_features": 4, "out_features": 2,
                         "activation_function": "torch.nn.GLU"})");
  EXPECT_NE(other.getRefusal().find("'torch.nn.GLU' is not supported; "
                                    "supported: of torch.nn Identity, ReLU"),
            std::string::npos);
}

TEST(PipelineModules, dense_drops_other_keys_as_its_class_does) {
  SecondModule folder("pylate.models.Dense.Dense",
                      R"({"in_features": 4, "out_features": 2, "other": 1})");
  EXPECT_EQ(folder.getRefusal(), "");
}

TEST(PipelineModules, splade) {
  PipelineModule module = SecondModule("SpladePooling", R"({
    "pooling_strategy": "sum", "activation_function": "log1p_relu"})",
                                       "MLMTransformer")
                              .get();
  EXPECT_TRUE(module.sums && module.logsTwice);
  EXPECT_NE(SecondModule("SpladePooling", R"({"pooling_strategy": "mean"})")
                .getError()
                .find("unknown strategy 'mean'; known: max, sum"),
            std::string::npos);
}

TEST(PipelineModules, transformers_that_give_something_else) {
  SecondModule folder("Pooling", "{}");
  folder.write("sentence_bert_config.json",
               R"({"transformer_task": "any-to-any"})");
  EXPECT_NE(folder.getRefusal().find("'any-to-any' is not supported"),
            std::string::npos);
  folder.write("sentence_bert_config.json",
               R"({"modality_config": {"text": {"method": "forward",
                   "method_output_name": "pooler_output"}}})");
  EXPECT_NE(folder.getRefusal().find("with the output 'last_hidden_state'"),
            std::string::npos);
  folder.write("sentence_bert_config.json",
               R"({"transformer_task": "fill-mask", "modality_config":
                   {"text": {"method": "forward",
                             "method_output_name": "logits"}}})");
  EXPECT_EQ(folder.getRefusal(), "");
  EXPECT_TRUE((*folder.read())->hasLogits);
  folder.write("sentence_bert_config.json",
               R"({"model_file": "x", "tokenizer_name_or_path": null})");
  EXPECT_NE(folder.getRefusal().find("key 'model_file' is not known"),
            std::string::npos);
}

TEST(PipelineModules, configs_of_old_names) {
  SecondModule folder("Pooling", "{}");
  EXPECT_EQ(getTransformerFile(folder.path), "sentence_bert_config.json");
  folder.write("sentence_roberta_config.json",
               R"({"max_seq_length": 9, "pool": 1})");
  EXPECT_EQ(getTransformerFile(folder.path), "sentence_roberta_config.json");
  EXPECT_NE(folder.getRefusal().find(
                "sentence_roberta_config.json: key 'pool' is not known"),
            std::string::npos);
}

TEST(PipelineModules, dense_of_a_model_of_tokens) {
  SecondModule folder("Dense", R"({"in_features": 4, "out_features": 2})");
  folder.write("config_sentence_transformers.json",
               R"({"model_type": "MultiVectorEncoder"})");
  EXPECT_TRUE(folder.get().readsTokens);
}
