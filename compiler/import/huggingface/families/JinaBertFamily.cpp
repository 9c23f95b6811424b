// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JinaBERT (jina-embeddings-v2): BERT with ALiBi by |i - j| instead of
// positions, whose MLP may be a GLU. Names are the checkpoint names; defaults
// are the same as in the checkpoints' code.
#include "compiler/import/huggingface/ModelFamily.h"

using namespace transom;

/// `feed_forward_type` selects a GLU, in one projection with the gate first.
static FamilyChoice jinaBertGlu(const char *name, const char *activation) {
  return {{"feed_forward_type"}, name, [=](ModelFamily &family) {
            family.mlp = MlpKind::StackedGlu;
            family.keys.activation = {};
            family.keys.mlpBias = {};
            family.keys.downBias = {true};
            family.defaults.activation = activation;
            family.modules.up = "mlp.gated_layers";
            family.modules.activation = "mlp.act";
            family.modules.down = "mlp.wo";
            family.modules.mlpAdd = "mlp";
            family.modules.mlpNorm = "mlp.layernorm";
            family.ignoredKeys.push_back("hidden_act");
            family.supportedValues.front().value = name;
          }};
}

/// JinaBERT for code: query and key norms, a second residual sum after
/// attention, and a GLU with the gate last.
static void addSecondNorms(ModelFamily &family) {
  FamilyModules &m = family.modules;
  m.queryNorm = "attention.self.layer_norm_q";
  m.keyNorm = "attention.self.layer_norm_k";
  m.attentionSecondNorm = "layer_norm_1";
  m.up = "mlp.up_gated_layer";
  m.activation = "mlp.act";
  m.down = "mlp.down_layer";
  m.mlpAdd = "";
  m.mlpNorm = "layer_norm_2";
  family.headNorms = HeadNorms::Joint;
  family.keys.mlpBias = {};
  family.keys.downBias = {true};
  family.keys.activation = {};
  family.mlp = MlpKind::StackedUpGlu;
  family.supportedValues.front().value = "geglu";
  family.ignoredKeys.push_back("hidden_act");
}

/// Returns its other MLP kinds.
static std::vector<FamilyChoice> getSecondNormChoices() {
  return {{{"feed_forward_type"},
           "reglu",
           [](ModelFamily &family) {
             family.defaults.activation = "relu";
             family.supportedValues.front().value = "reglu";
           }},
          {{"feed_forward_type"}, "original", [](ModelFamily &family) {
             family.modules.up = "mlp.up_layer";
             family.mlp = MlpKind::Plain;
             family.keys.activation = {"hidden_act"};
             family.supportedValues.front().value = "original";
           }}};
}

ModelFamily transom::jinaBertEntry() {
  ModelFamily family = bertEntry();
  family.otherClassNames = {family.className};
  family.className = "JinaBert";
  family.positions = PositionEncoding::Alibi;
  family.positionType = "alibi";
  family.modules.position = "";
  family.supportedValues = {{"feed_forward_type", "original"}};
  for (const char *key : {"emb_pooler", "model_max_length"})
    family.ignoredKeys.push_back(key);
  ModelFamily secondNorms = family;
  addSecondNorms(secondNorms);
  family = withChoices(
      family, {jinaBertGlu("geglu", "gelu"), jinaBertGlu("reglu", "relu")});
  family.variants.insert(
      family.variants.begin(),
      {{"encoder.layer.0.attention.self.layer_norm_q.weight"},
       "stored",
       {withChoices(secondNorms, getSecondNormChoices())}});
  return family;
}
