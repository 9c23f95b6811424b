// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder families like Llama: RMS norms, rope and a GLU. Names are the
// checkpoint names; defaults are the same as in the config classes of
// transformers 4 and 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;

//===----------------------------------------------------------------------===//
// What the families share
//===----------------------------------------------------------------------===//

static FamilyKeys llamaKeys() {
  FamilyKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.kvHeads = {"num_key_value_heads"};
  keys.headDim = {"head_dim"};
  keys.intermediate = {"intermediate_size"};
  keys.activation = {"hidden_act"};
  keys.positions = {"max_position_embeddings"};
  keys.epsilon = {"rms_norm_eps"};
  keys.theta = {"rope_theta"};
  keys.ropeFraction = {"partial_rotary_factor"};
  keys.window = {"sliding_window"};
  return keys;
}

static FamilyModules llamaModules() {
  FamilyModules m = {};
  m.word = "embed_tokens";
  m.rope = "rotary_emb";
  m.layer = "layers.{i}";
  m.attention = "self_attn";
  m.query = "self_attn.q_proj";
  m.key = "self_attn.k_proj";
  m.value = "self_attn.v_proj";
  m.output = "self_attn.o_proj";
  m.attentionNorm = "input_layernorm";
  m.mlpNorm = "post_attention_layernorm";
  m.gate = "mlp.gate_proj";
  m.up = "mlp.up_proj";
  m.activation = "mlp.act_fn";
  m.down = "mlp.down_proj";
  m.finalNorm = "norm";
  return m;
}

static FamilyDefaults llamaDefaults() {
  FamilyDefaults defaults = {32000, 4096, 32, 32};
  defaults.intermediate = 11008;
  defaults.positions = 2048;
  return defaults;
}

ModelFamily transom::llamaEntry() {
  ModelFamily family = {"llama",     "Llama",         "model.",
                        llamaKeys(), llamaDefaults(), llamaModules()};
  family.heads = head::decoder("ForCausalLM");
  family.keys.qkvBias = family.keys.outputBias = {false, {"attention_bias"}};
  family.keys.mlpBias = {false, {"mlp_bias"}};
  family.ignoredKeys = {"pretraining_tp", "attention_dropout",
                        "rope_interleaved"};
  return family;
}

static ModelFamily mistral() {
  ModelFamily family = llamaEntry();
  family.modelType = "mistral";
  family.className = "Mistral";
  family.keys.qkvBias = family.keys.outputBias = family.keys.mlpBias = {};
  family.defaults.kvHeads = 8;
  family.defaults.intermediate = 14336;
  family.defaults.positions = 4096 * 32;
  family.defaults.window = 4096;
  family.windows = WindowLayers::All;
  family.ignoredKeys = {"attention_dropout"};
  return family;
}

static ModelFamily qwen2() {
  ModelFamily family = llamaEntry();
  family.modelType = "qwen2";
  family.className = "Qwen2";
  family.keys.headDim = {};
  family.keys.qkvBias = {true, {"qkv_bias"}};
  family.keys.outputBias = family.keys.mlpBias = {};
  family.defaults.vocab = 151936;
  family.defaults.kvHeads = 32;
  family.defaults.intermediate = 22016;
  family.defaults.positions = 32768;
  family.defaults.window = 4096;
  family.defaults.firstWindowLayer = 28;
  family.windows = WindowLayers::FromLayer;
  family.ignoredKeys = {"attention_dropout"};
  return family;
}

static ModelFamily qwen3() {
  ModelFamily family = qwen2();
  family.modelType = "qwen3";
  family.className = "Qwen3";
  family.keys.headDim = {"head_dim"};
  family.keys.qkvBias = family.keys.outputBias = {false, {"attention_bias"}};
  family.defaults.headDim = 128;
  family.modules.queryNorm = "self_attn.q_norm";
  family.modules.keyNorm = "self_attn.k_norm";
  family.headNorms = HeadNorms::Shared;
  return family;
}

static ModelFamily phi3() {
  ModelFamily family = llamaEntry();
  family.modelType = "phi3";
  family.className = "Phi3";
  family.keys.qkvBias = family.keys.outputBias = family.keys.mlpBias = {};
  family.defaults = {32064, 3072, 32, 32};
  family.defaults.padToken = 32000;
  family.defaults.intermediate = 8192;
  family.defaults.positions = 4096;
  family.defaults.epsilon = 1e-5;
  family.modules.qkv = "self_attn.qkv_proj";
  family.modules.query = family.modules.key = family.modules.value = "";
  family.modules.gate = "";
  family.modules.up = "mlp.gate_up_proj";
  family.modules.activation = "mlp.activation_fn";
  family.qkv = QkvLayout::Stacked;
  family.mlp = MlpKind::StackedGlu;
  family.partialRope = true;
  family.windows = WindowLayers::All;
  family.ropeTypes = {"default"};
  family.ignoredKeys = {"attention_dropout", "resid_pdrop", "embd_pdrop",
                        "original_max_position_embeddings", "attention_bias"};
  return family;
}

static ModelFamily olmo2() {
  ModelFamily family = llamaEntry();
  family.modelType = "olmo2";
  family.className = "Olmo2";
  family.keys.mlpBias = {};
  family.defaults.vocab = 50304;
  family.defaults.padToken = 1;
  family.defaults.epsilon = 1e-5;
  family.modules.queryNorm = "self_attn.q_norm";
  family.modules.keyNorm = "self_attn.k_norm";
  family.modules.attentionNorm = family.modules.mlpNorm = "";
  family.modules.attentionPostNorm = "post_attention_layernorm";
  family.modules.mlpPostNorm = "post_feedforward_layernorm";
  family.headNorms = HeadNorms::Joint;
  family.ignoredKeys = {"attention_dropout"};
  return family;
}

static ModelFamily granite() {
  ModelFamily family = llamaEntry();
  family.modelType = "granite";
  family.className = "Granite";
  family.heads = head::generator("ForCausalLM");
  family.keys.embeddingScale = {"embedding_multiplier"};
  family.keys.residualScale = {"residual_multiplier"};
  family.keys.scoreScale = {"attention_multiplier"};
  family.keys.logitDivisor = {"logits_scaling"};
  family.ignoredKeys = {"attention_dropout"};
  return family;
}

static ModelFamily smollm3() {
  ModelFamily family = llamaEntry();
  family.modelType = "smollm3";
  family.className = "SmolLM3";
  family.keys.ropeLayers = {"no_rope_layers"};
  family.keys.ropePeriod = {"no_rope_layer_interval"};
  family.defaults = {128256, 2048, 36, 16};
  family.defaults.kvHeads = 4;
  family.defaults.intermediate = 11008;
  family.defaults.positions = 32768;
  family.defaults.theta = 2000000;
  family.defaults.ropePeriod = 4;
  family.defaults.padToken = 128004;
  family.defaults.tied = true;
  family.windows = WindowLayers::WithoutRope;
  family.ignoredKeys = {"attention_dropout", "max_window_layers",
                        "pretraining_tp"};
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::llamaFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(granite());
  families.push_back(llamaEntry());
  families.push_back(mistral());
  families.push_back(olmo2());
  families.push_back(phi3());
  families.push_back(qwen2());
  families.push_back(qwen3());
  families.push_back(smollm3());
  return families;
}
