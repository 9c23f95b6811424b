// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gemma: decoders like Llama whose norms multiply by 1 + w, with norms after
// attention and MLP, and encoders based on them. Names are the checkpoint
// names; defaults are the same as in the config classes of transformers 4 and
// 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;

/// Common base: Llama with another activation, norms and embedding.
static ModelFamily gemmaEntry() {
  ModelFamily family = llamaEntry();
  family.keys.mlpBias = {};
  family.keys.scaledEmbedding = {true};
  family.defaults = {256000, 3072, 28, 16};
  family.defaults.headDim = 256;
  family.defaults.positions = 8192;
  family.defaults.activation = "gelu_pytorch_tanh";
  family.defaults.tied = true;
  family.defaults.padToken = 0;
  family.normKind = NormKind::RmsOnePlus;
  return family;
}

/// The first Gemma. The name `gelu` for its activation means the tanh form.
static ModelFamily gemma() {
  ModelFamily family = gemmaEntry();
  family.modelType = "gemma";
  family.className = "Gemma";
  family.keys.activation = {};
  family.defaults.kvHeads = 16;
  family.defaults.intermediate = 24576;
  family.supportedValues = {{"hidden_act", "gelu_pytorch_tanh|gelu"},
                            {"hidden_activation", "gelu_pytorch_tanh|gelu"}};
  family.ignoredKeys = {"attention_dropout"};
  return family;
}

static ModelFamily gemma2() {
  ModelFamily family = gemmaEntry();
  family.modelType = "gemma2";
  family.className = "Gemma2";
  family.keys.activation = {"hidden_activation"};
  family.keys.attentionCap = {"attn_logit_softcapping"};
  family.keys.logitCap = {"final_logit_softcapping"};
  family.keys.queryScalar = {"query_pre_attn_scalar"};
  family.defaults.hidden = 2304;
  family.defaults.layers = 26;
  family.defaults.heads = 8;
  family.defaults.kvHeads = 4;
  family.defaults.intermediate = 9216;
  family.defaults.window = 4096;
  family.defaults.attentionCap = 50;
  family.defaults.logitCap = 30;
  family.defaults.queryScalar = 256;
  family.modules.attentionPostNorm = "post_attention_layernorm";
  family.modules.mlpNorm = "pre_feedforward_layernorm";
  family.modules.mlpPostNorm = "post_feedforward_layernorm";
  family.windows = WindowLayers::Even;
  family.ignoredKeys = {"attention_dropout", "cache_implementation",
                        "hidden_act"};
  return family;
}

/// Returns the entry for models with bidirectional attention, such as
/// EmbeddingGemma.
static ModelFamily gemma3Encoder(ModelFamily family) {
  family.kind = ModelKind::Encoder;
  family.windowSize = WindowSize::Total;
  family.heads.erase(family.heads.begin(), family.heads.end() - 1);
  return family;
}

static ModelFamily gemma3() {
  ModelFamily family = gemma2();
  family.modelType = "gemma3_text";
  family.className = "Gemma3";
  family.heads[1].suffix = "TextForSequenceClassification";
  family.heads[2].suffix = "TextModel";
  family.keys.attentionCap = {};
  family.keys.localTheta = {"rope_local_base_freq"};
  family.keys.windowPeriod = {"sliding_window_pattern",
                              "_sliding_window_pattern"};
  family.defaults.vocab = 262208;
  family.defaults.positions = 131072;
  family.defaults.theta = 1000000;
  family.defaults.windowPeriod = 6;
  family.defaults.attentionCap = family.defaults.logitCap = 0;
  family.modules.queryNorm = "self_attn.q_norm";
  family.modules.keyNorm = "self_attn.k_norm";
  family.headNorms = HeadNorms::Shared;
  family.ropeByLayerType = true;
  family.scalesLocalRope = false;
  family.windows = WindowLayers::NotLastOfN;
  // The class reads the score cap but does not use it.
  family.supportedValues = {{"attn_logit_softcapping", "null"}};
  family.variants = {
      {{"use_bidirectional_attention"}, "true", {gemma3Encoder(family)}}};
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::gemmaFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(gemma());
  families.push_back(gemma2());
  families.push_back(gemma3());
  return families;
}
