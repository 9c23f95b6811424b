// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts that adapters need about some families.
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"
#include "compiler/import/huggingface/ModelConfig.h"
#include "compiler/import/huggingface/ModelFamily.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

AdapterBase describe(const char *type, const char *suffix, bool tied) {
  const ModelFamily &family = *findModelFamily(type);
  std::vector<ModelConfig> models(std::max<size_t>(1, family.halves.size()));
  for (ModelConfig &model : models)
    model.tied = tied;
  for (const FamilyHead &head : family.heads)
    if (std::string(head.suffix) == suffix)
      return getAdapterBase(family, head, models);
  ADD_FAILURE() << "no head " << suffix;
  return {};
}

using Names = std::vector<std::string>;

} // namespace

TEST(AdapterBase, a_decoder_ties_its_head) {
  const AdapterBase base = describe("llama", "ForCausalLM", true);
  EXPECT_EQ(base.architecture, "LlamaForCausalLM");
  EXPECT_EQ(base.prefix, "model.");
  EXPECT_EQ(base.transposed, "");
  ASSERT_EQ(base.ties.size(), 1u);
  EXPECT_EQ(base.ties[0].names,
            (Names{"model.embed_tokens.weight", "lm_head.weight"}));
  EXPECT_EQ(base.ties[0].input, "model.embed_tokens");
  EXPECT_EQ(describe("llama", "ForCausalLM", false).ties[0].names,
            Names{"model.embed_tokens.weight"});
  EXPECT_EQ(describe("gpt2", "LMHeadModel", true).transposed, "h.");
}

TEST(AdapterBase, an_encoder_ties_its_head_and_the_names_of_a_bias) {
  const AdapterBase base = describe("bert", "ForMaskedLM", true);
  ASSERT_EQ(base.ties.size(), 2u);
  EXPECT_EQ(base.ties[0].names, (Names{"bert.embeddings.word_embeddings.weight",
                                       "cls.predictions.decoder.weight"}));
  EXPECT_EQ(base.ties[1].names,
            (Names{"cls.predictions.decoder.bias", "cls.predictions.bias"}));
  EXPECT_EQ(base.ties[1].input, "");
}

TEST(AdapterBase, halves_share_a_table_with_the_head) {
  const AdapterBase base = describe("bart", "ForConditionalGeneration", true);
  ASSERT_EQ(base.ties.size(), 1u);
  EXPECT_EQ(base.ties[0].names,
            (Names{"model.shared.weight", "model.decoder.embed_tokens.weight",
                   "model.encoder.embed_tokens.weight", "lm_head.weight"}));
  EXPECT_EQ(base.ties[0].input, "model.shared");
}
