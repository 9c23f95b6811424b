// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder families with LayerNorm and a plain MLP. Names are the checkpoint
// names; defaults are the same as in the config classes of transformers 4 and
// 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;

static FamilyKeys gpt2Keys() {
  FamilyKeys keys;
  keys.hidden = {"n_embd", "hidden_size"};
  keys.layers = {"n_layer", "num_hidden_layers"};
  keys.heads = {"n_head", "num_attention_heads"};
  keys.intermediate = {"n_inner"};
  keys.activation = {"activation_function"};
  keys.positions = {"n_positions", "max_position_embeddings"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {true};
  keys.scaleScores = {"scale_attn_weights"};
  keys.scaleByLayer = {"scale_attn_by_inverse_layer_idx"};
  return keys;
}

static FamilyModules gpt2Modules() {
  FamilyModules m = {};
  m.word = "wte";
  m.position = "wpe";
  m.layer = "h.{i}";
  m.attention = "attn";
  m.qkv = "attn.c_attn";
  m.output = "attn.c_proj";
  m.attentionNorm = "ln_1";
  m.mlpNorm = "ln_2";
  m.up = "mlp.c_fc";
  m.activation = "mlp.act";
  m.down = "mlp.c_proj";
  m.finalNorm = "ln_f";
  return m;
}

static ModelFamily gpt2() {
  FamilyDefaults defaults = {50257, 768, 12, 12};
  defaults.positions = 1024;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu_new";
  defaults.tied = true;
  ModelFamily family = {"gpt2",     "GPT2",   "transformer.",
                        gpt2Keys(), defaults, gpt2Modules()};
  family.normKind = NormKind::Layer;
  family.positions = PositionEncoding::Learned;
  family.qkv = QkvLayout::Stacked;
  family.mlp = MlpKind::Plain;
  family.transposedWeights = true;
  family.heads = head::decoder("LMHeadModel");
  family.ignoredKeys = {"resid_pdrop",
                        "embd_pdrop",
                        "attn_pdrop",
                        "n_ctx",
                        "reorder_and_upcast_attn",
                        "summary_type",
                        "summary_use_proj",
                        "summary_activation",
                        "summary_proj_to_labels",
                        "summary_first_dropout"};
  return family;
}

static ModelFamily gptNeox() {
  FamilyKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.intermediate = {"intermediate_size"};
  keys.activation = {"hidden_act"};
  keys.positions = {"max_position_embeddings"};
  keys.epsilon = {"layer_norm_eps"};
  keys.qkvBias = keys.outputBias = {true, {"attention_bias"}};
  keys.mlpBias = {true};
  keys.theta = {"rotary_emb_base", "rope_theta"};
  keys.ropeFraction = {"rotary_pct", "partial_rotary_factor"};
  keys.parallelResidual = {true, {"use_parallel_residual"}};
  FamilyDefaults defaults = {50432, 6144, 44, 64};
  defaults.intermediate = 24576;
  defaults.positions = 2048;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu";
  defaults.ropeFraction = 0.25;
  FamilyModules m = {};
  m.word = "embed_in";
  m.rope = "rotary_emb";
  m.layer = "layers.{i}";
  m.attention = "attention";
  m.qkv = "attention.query_key_value";
  m.output = "attention.dense";
  m.attentionNorm = "input_layernorm";
  m.mlpNorm = "post_attention_layernorm";
  m.up = "mlp.dense_h_to_4h";
  m.activation = "mlp.act";
  m.down = "mlp.dense_4h_to_h";
  m.finalNorm = "final_layer_norm";
  ModelFamily family = {"gpt_neox", "GPTNeoX", "gpt_neox.", keys, defaults, m};
  family.heads = head::decoder("ForCausalLM");
  family.normKind = NormKind::Layer;
  family.qkv = QkvLayout::ByKvHead;
  family.mlp = MlpKind::Plain;
  family.partialRope = true;
  family.ignoredKeys = {"attention_dropout", "hidden_dropout",
                        "classifier_dropout"};
  return family;
}

static FamilyModules optModules() {
  FamilyModules m = {};
  m.word = "decoder.embed_tokens";
  m.position = "decoder.embed_positions";
  m.projectIn = "decoder.project_in";
  m.projectOut = "decoder.project_out";
  m.layer = "decoder.layers.{i}";
  m.attention = "self_attn";
  m.query = "self_attn.q_proj";
  m.key = "self_attn.k_proj";
  m.value = "self_attn.v_proj";
  m.output = "self_attn.out_proj";
  m.attentionNorm = "self_attn_layer_norm";
  m.mlpNorm = "final_layer_norm";
  m.up = "fc1";
  m.activation = "activation_fn";
  m.down = "fc2";
  m.finalNorm = "decoder.final_layer_norm";
  return m;
}

static ModelFamily opt() {
  FamilyKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.intermediate = {"ffn_dim"};
  keys.activation = {"activation_function"};
  keys.positions = {"max_position_embeddings"};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {true, {"enable_bias"}};
  keys.normBefore = {"do_layer_norm_before"};
  keys.noFinalNorm = {"_remove_final_layer_norm"};
  keys.normsHaveWeights = {"layer_norm_elementwise_affine"};
  keys.embeddingWidth = {"word_embed_proj_dim"};
  FamilyDefaults defaults = {50272, 768, 12, 12};
  defaults.intermediate = 3072;
  defaults.positions = 2048;
  defaults.epsilon = 1e-5;
  defaults.activation = "relu";
  defaults.tied = true;
  defaults.padToken = 1;
  ModelFamily family = {"opt", "OPT", "model.", keys, defaults, optModules()};
  family.heads = head::decoder("ForCausalLM");
  family.normKind = NormKind::Layer;
  family.positions = PositionEncoding::Learned;
  family.positionOffset = 2;
  family.mlp = MlpKind::Plain;
  family.ignoredKeys = {"dropout", "attention_dropout", "activation_dropout",
                        "layerdrop", "init_std"};
  return family;
}

static ModelFamily bloom() {
  FamilyKeys keys;
  keys.hidden = {"n_embed", "hidden_size"};
  keys.layers = {"n_layer", "num_hidden_layers"};
  keys.heads = {"n_head", "num_attention_heads"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {true};
  keys.residualFromNorm = {"apply_residual_connection_post_layernorm"};
  FamilyDefaults defaults = {250880, 64, 2, 8};
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu_new";
  defaults.tied = true;
  FamilyModules m = {};
  m.word = "word_embeddings";
  m.embeddingNorm = "word_embeddings_layernorm";
  m.layer = "h.{i}";
  m.attention = "self_attention";
  m.qkv = "self_attention.query_key_value";
  m.output = "self_attention.dense";
  m.attentionNorm = "input_layernorm";
  m.mlpNorm = "post_attention_layernorm";
  m.up = "mlp.dense_h_to_4h";
  m.activation = "mlp.gelu_impl";
  m.down = "mlp.dense_4h_to_h";
  m.finalNorm = "ln_f";
  ModelFamily family = {"bloom", "Bloom", "transformer.", keys, defaults, m};
  family.heads = head::decoder("ForCausalLM");
  family.normKind = NormKind::Layer;
  family.positions = PositionEncoding::Alibi;
  family.qkv = QkvLayout::ByKvHead;
  family.mlp = MlpKind::Plain;
  family.ignoredKeys = {"attention_dropout",
                        "hidden_dropout",
                        "pretraining_tp",
                        "slow_but_exact",
                        "attention_softmax_in_fp32",
                        "masked_softmax_fusion",
                        "bias_dropout_fusion",
                        "skip_bias_add",
                        "skip_bias_add_qkv",
                        "offset_alibi",
                        "seq_length",
                        "n_inner"};
  return family;
}

static ModelFamily phi() {
  FamilyKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.kvHeads = {"num_key_value_heads"};
  keys.intermediate = {"intermediate_size"};
  keys.activation = {"hidden_act"};
  keys.positions = {"max_position_embeddings"};
  keys.epsilon = {"layer_norm_eps"};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {true};
  keys.headNorms = {false, {"qk_layernorm"}};
  keys.theta = {"rope_theta"};
  keys.ropeFraction = {"partial_rotary_factor"};
  keys.parallelResidual = {true};
  FamilyDefaults defaults = {51200, 2048, 24, 32};
  defaults.intermediate = 8192;
  defaults.positions = 2048;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu_new";
  defaults.ropeFraction = 0.5;
  defaults.parallelNorms = 1;
  FamilyModules m = optModules();
  m.word = "embed_tokens";
  m.position = m.projectIn = m.projectOut = m.mlpNorm = "";
  m.rope = "rotary_emb";
  m.layer = "layers.{i}";
  m.queryNorm = "self_attn.q_layernorm";
  m.keyNorm = "self_attn.k_layernorm";
  m.output = "self_attn.dense";
  m.attentionNorm = "input_layernorm";
  m.up = "mlp.fc1";
  m.activation = "mlp.activation_fn";
  m.down = "mlp.fc2";
  m.finalNorm = "final_layernorm";
  ModelFamily family = {"phi", "Phi", "model.", keys, defaults, m};
  family.heads = head::decoder("ForCausalLM", head::Bias::Yes);
  family.normKind = NormKind::Layer;
  family.headNorms = HeadNorms::Shared;
  family.mlp = MlpKind::Plain;
  family.partialRope = true;
  family.ignoredKeys = {"attention_dropout", "resid_pdrop", "embd_pdrop"};
  return family;
}

/// Falcon's first architecture; all heads share one key head.
static ModelFamily falconOfOneKeyHead() {
  FamilyKeys keys;
  keys.hidden = {"n_embed", "hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.intermediate = {"ffn_hidden_size"};
  keys.activation = {"activation"};
  keys.positions = {"max_position_embeddings"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {false, {"bias"}};
  keys.theta = {"rope_theta"};
  keys.parallelResidual = {true, {"parallel_attn"}};
  FamilyDefaults defaults = {65024, 4544, 32, 71};
  defaults.kvHeads = 1;
  defaults.positions = 2048;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu";
  defaults.tied = true;
  defaults.parallelNorms = 1;
  FamilyModules m = bloom().modules;
  m.embeddingNorm = "";
  m.rope = "rotary_emb";
  m.activation = "mlp.act";
  ModelFamily family = {"falcon", "Falcon", "transformer.", keys, defaults, m};
  family.heads = head::decoder("ForCausalLM");
  family.normKind = NormKind::Layer;
  family.qkv = QkvLayout::ByKvHead;
  family.mlp = MlpKind::Plain;
  family.scaledAlibi = true;
  family.supportedValues = {{"num_ln_in_parallel_attn", "1"}};
  family.ignoredKeys = {"attention_dropout", "hidden_dropout", "num_kv_heads",
                        "multi_query",
                        "apply_residual_connection_post_layernorm"};
  return family;
}

static ModelFamily falconOfOwnKeys() {
  ModelFamily family = falconOfOneKeyHead();
  family.keys.kvHeads = {"num_kv_heads"};
  family.defaults.kvHeads = 0;
  return family;
}

/// Falcon's new architecture: grouped heads, and layers are always parallel.
static ModelFamily falconOfGroups() {
  ModelFamily family = falconOfOwnKeys();
  family.keys.parallelResidual = {true};
  family.keys.parallelNorms = {"num_ln_in_parallel_attn"};
  family.defaults.parallelNorms = 2;
  family.modules.attentionNorm = "ln_attn";
  family.modules.mlpNorm = "ln_mlp";
  family.modules.parallelNorm = "input_layernorm";
  family.supportedValues = {{"parallel_attn", "true"}};
  return family;
}

static ModelFamily falcon() {
  auto orAlibi = [](ModelFamily family) {
    ModelFamily alibi = family;
    alibi.positions = PositionEncoding::Alibi;
    alibi.modules.rope = "";
    for (const char *key : {"rope_theta", "rope_parameters", "rope_scaling"})
      alibi.ignoredKeys.push_back(key);
    family.variants.push_back({{"alibi"}, "true", {alibi}});
    return family;
  };
  ModelFamily family = falconOfOneKeyHead();
  family.variants = {
      {{"new_decoder_architecture"}, "true", {orAlibi(falconOfGroups())}},
      {{"multi_query"}, "false", {orAlibi(falconOfOwnKeys())}}};
  return orAlibi(family);
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::gptFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(bloom());
  families.push_back(falcon());
  families.push_back(gpt2());
  families.push_back(gptNeox());
  families.push_back(opt());
  families.push_back(phi());
  return families;
}
