// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RoBERTa, and encoders with the same position counting. Names are the
// checkpoint names; defaults are the same as in the config classes of
// transformers 4 and 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;

//===----------------------------------------------------------------------===//
// RoBERTa
//===----------------------------------------------------------------------===//

static ModelFamily roberta() {
  ModelFamily family = bertEntry();
  family.modelType = "roberta";
  family.className = "Roberta";
  family.prefix = "roberta.";
  family.keys.pad = {"pad_token_id"};
  family.defaults.vocab = 50265;
  family.defaults.pad = 1;
  family.positionIndex = PositionIndex::NonpadRank;
  family.heads = head::ofRoberta();
  return family;
}

static ModelFamily camembert() {
  ModelFamily family = roberta();
  family.modelType = "camembert";
  family.className = "Camembert";
  family.defaults.vocab = 30522;
  return family;
}

static ModelFamily xlmRoberta() {
  ModelFamily family = roberta();
  family.modelType = "xlm-roberta";
  family.className = "XLMRoberta";
  family.defaults.vocab = 30522;
  family.variants = {
      {{"position_embedding_type"}, "rotary", {flashXlmRobertaEntry()}}};
  return family;
}

/// XLM-RoBERTa with norms before attention and MLP, and no embedding norm.
static ModelFamily xlmRobertaXl() {
  ModelFamily family = roberta();
  family.modelType = "xlm-roberta-xl";
  family.className = "XLMRobertaXL";
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 250880;
  defaults.hidden = 2560;
  defaults.layers = 36;
  defaults.heads = 32;
  defaults.intermediate = 10240;
  defaults.positions = 514;
  defaults.types = 1;
  defaults.epsilon = 1e-5;
  FamilyModules &m = family.modules;
  m.embeddingNorm = "";
  m.attentionNorm = "attention.self_attn_layer_norm";
  m.mlpNorm = "LayerNorm";
  m.finalNorm = "encoder.LayerNorm";
  family.normPlacement = NormPlacement::Pre;
  return family;
}

//===----------------------------------------------------------------------===//
// MPNet
//===----------------------------------------------------------------------===//

/// RoBERTa with a relative position bias that all layers share. Its padding id
/// for positions is 1, whatever the config contains.
static ModelFamily mpnet() {
  ModelFamily family = roberta();
  family.modelType = "mpnet";
  family.className = "MPNet";
  family.prefix = "mpnet.";
  family.keys.types = family.keys.pad = {};
  family.keys.biasBuckets = {"relative_attention_num_buckets"};
  family.defaults.vocab = 30527;
  family.defaults.types = 0;
  FamilyModules &m = family.modules;
  m.type = "";
  m.relativeBias = "encoder.relative_attention_bias";
  m.attention = "attention.attn";
  m.query = "attention.attn.q";
  m.key = "attention.attn.k";
  m.value = "attention.attn.v";
  m.output = "attention.attn.o";
  m.attentionAdd = "attention";
  m.attentionNorm = "attention.LayerNorm";
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::robertaFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(camembert());
  families.push_back(mpnet());
  families.push_back(roberta());
  families.push_back(xlmRoberta());
  families.push_back(xlmRobertaXl());
  return families;
}
