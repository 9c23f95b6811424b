// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeBERTa, whose scores are sums of content and relative position products.
// Versions 2 and 3, and mDeBERTa, are one family.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;
using head::linear;
using head::Width;
using Kind = HeadStep::Kind;

static FamilyKeys debertaKeys() {
  FamilyKeys keys = bertEntry().keys;
  keys.embeddingWidth = {"embedding_size"};
  keys.addsPositions = {true, {"position_biased_input"}};
  keys.relativePositions = {false, {"relative_attention"}};
  keys.positionScores = {"pos_att_type"};
  keys.positionDistance = {"max_relative_positions"};
  keys.poolerActivation = {"pooler_hidden_act"};
  keys.poolerWidth = {"pooler_hidden_size"};
  return keys;
}

static FamilyModules debertaModules() {
  FamilyModules m = bertEntry().modules;
  m.pooler = m.poolerDense = "";
  m.projectIn = "embeddings.embed_proj";
  m.relativePositions = "encoder.rel_embeddings";
  return m;
}

static FamilyModules stackedModules() {
  FamilyModules m = debertaModules();
  m.query = m.key = m.value = "";
  m.qkv = "attention.self.in_proj";
  m.queryBias = "q_bias";
  m.valueBias = "v_bias";
  m.positionKey = "attention.self.pos_proj";
  m.positionQuery = "attention.self.pos_q_proj";
  return m;
}

/// Heads of all classes except for the masked-LM head.
static std::vector<FamilyHead> debertaHeads(FamilyHead maskedLm) {
  return {
      head::bare(),
      std::move(maskedLm),
      head::sequence({{Kind::First},
                      linear("pooler.dense", Width::Hidden),
                      {Kind::PoolerActivation},
                      linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
      head::questionAnswering(),
  };
}

static std::vector<FamilyHead> legacyHeads() {
  return debertaHeads(head::maskedLm(
      {linear("cls.predictions.transform.dense", Width::Embedding),
       head::activation(), head::norm("cls.predictions.transform.LayerNorm"),
       head::vocabulary(
           "cls.predictions.decoder",
           {"cls.predictions.decoder.bias", "cls.predictions.bias"})}));
}

/// The original code's head, whose weight is always the token embedding.
static ModelFamily withOwnHead(ModelFamily family) {
  family.keys.tied = {};
  family.defaults.tied = true;
  family.heads = debertaHeads(head::maskedLm(
      {linear("lm_predictions.lm_head.dense", Width::Hidden),
       head::activation(), head::norm("lm_predictions.lm_head.LayerNorm"),
       head::vocabulary("lm_predictions.lm_head",
                        {"lm_predictions.lm_head.bias"})}));
  family.ignoredKeys.push_back("tie_word_embeddings");
  return family;
}

static ModelFamily deberta() {
  ModelFamily family = bertEntry();
  family.modelType = "deberta";
  family.className = "Deberta";
  family.prefix = "deberta.";
  family.keys = debertaKeys();
  family.keys.qkvBias = {false};
  family.defaults.vocab = 50265;
  family.defaults.types = 0;
  family.defaults.epsilon = 1e-7;
  family.typesOptional = true;
  family.modules = stackedModules();
  family.projection = EmbeddingProjection::BeforeNorm;
  family.qkv = QkvLayout::ByKvHead;
  family.positionKeyBias = false;
  family.heads = legacyHeads();
  family.ignoredKeys = {"hidden_dropout_prob", "attention_probs_dropout_prob",
                        "pooler_dropout",      "cls_dropout",
                        "padding_idx",         "legacy"};
  family.supportedValues = {{"talking_head", "false"}};
  family.variants = {{{"legacy"}, "false", {withOwnHead(family)}}};
  return family;
}

static FamilyModules debertaV2Modules() {
  FamilyModules m = debertaModules();
  m.query = "attention.self.query_proj";
  m.key = "attention.self.key_proj";
  m.value = "attention.self.value_proj";
  m.positionKey = "attention.self.pos_key_proj";
  m.positionQuery = "attention.self.pos_query_proj";
  m.relativePositionNorm = "encoder.LayerNorm";
  m.convolution = "encoder.conv.conv";
  m.convolutionNorm = "encoder.conv.LayerNorm";
  return m;
}

static ModelFamily debertaV2() {
  ModelFamily family = deberta();
  family.modelType = "deberta-v2";
  family.className = "DebertaV2";
  FamilyKeys &keys = family.keys;
  keys.qkvBias = {true};
  keys.headDim = {"attention_head_size"};
  keys.positionBuckets = {"position_buckets"};
  keys.sharedPositions = {false, {"share_att_key"}};
  keys.positionNorm = {"norm_rel_ebd"};
  keys.convolution = {"conv_kernel_size"};
  keys.convolutionGroups = {"conv_groups"};
  keys.convolutionActivation = {"conv_act"};
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 128100;
  defaults.hidden = 1536;
  defaults.layers = defaults.heads = 24;
  defaults.intermediate = 6144;
  family.modules = debertaV2Modules();
  family.qkv = QkvLayout::Separate;
  family.positionKeyBias = true;
  family.supportedValues = {};
  family.variants = {};
  family.variants = {{{"legacy"}, "false", {withOwnHead(family)}}};
  return family;
}

std::vector<ModelFamily> transom::debertaFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(deberta());
  families.push_back(debertaV2());
  return families;
}
