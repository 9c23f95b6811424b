// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows. Names are those that checkpoints hold; defaults are those of the
// config classes of transformers 4 and 5.
#include "compiler/import/huggingface/DecoderFamilies.h"

using namespace transom;

//===----------------------------------------------------------------------===//
// What llama and its kin share
//===----------------------------------------------------------------------===//

static DecoderKeys llamaKeys() {
  DecoderKeys keys;
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
  keys.rotaryShare = {"partial_rotary_factor"};
  return keys;
}

static DecoderModules llamaModules() {
  DecoderModules m = {};
  m.word = "embed_tokens";
  m.rotary = "rotary_emb";
  m.layer = "layers.{i}";
  m.attention = "self_attn";
  m.query = "self_attn.q_proj";
  m.key = "self_attn.k_proj";
  m.value = "self_attn.v_proj";
  m.attentionOut = "self_attn.o_proj";
  m.attentionNorm = "input_layernorm";
  m.mlpNorm = "post_attention_layernorm";
  m.gate = "mlp.gate_proj";
  m.up = "mlp.up_proj";
  m.activation = "mlp.act_fn";
  m.down = "mlp.down_proj";
  m.finalNorm = "norm";
  return m;
}

static DecoderDefaults llamaDefaults() {
  DecoderDefaults absent = {32000, 4096, 32, 32};
  absent.intermediate = 11008;
  absent.positions = 2048;
  return absent;
}

static DecoderFamily llama() {
  DecoderFamily row = {"llama",     "Llama",         "model.",
                       llamaKeys(), llamaDefaults(), llamaModules()};
  row.keys.qkvBias = row.keys.attentionOutBias = {false, {"attention_bias"}};
  row.keys.mlpBias = {false, {"mlp_bias"}};
  row.ignoredKeys = {"pretraining_tp", "attention_dropout", "rope_interleaved"};
  return row;
}

static DecoderFamily mistral() {
  DecoderFamily row = llama();
  row.modelType = "mistral";
  row.stem = "Mistral";
  row.keys.qkvBias = row.keys.attentionOutBias = row.keys.mlpBias = {};
  row.defaults.kvHeads = 8;
  row.defaults.intermediate = 14336;
  row.defaults.positions = 4096 * 32;
  row.defaults.window = 4096;
  row.window = WindowRule::All;
  row.ignoredKeys = {"attention_dropout"};
  return row;
}

static DecoderFamily qwen2() {
  DecoderFamily row = llama();
  row.modelType = "qwen2";
  row.stem = "Qwen2";
  row.keys.headDim = {};
  row.keys.qkvBias = {true, {"qkv_bias"}};
  row.keys.attentionOutBias = row.keys.mlpBias = {};
  row.defaults.vocab = 151936;
  row.defaults.kvHeads = 32;
  row.defaults.intermediate = 22016;
  row.defaults.positions = 32768;
  row.defaults.window = 4096;
  row.defaults.firstWindowLayer = 28;
  row.window = WindowRule::FromLayer;
  row.ignoredKeys = {"attention_dropout"};
  return row;
}

static DecoderFamily qwen3() {
  DecoderFamily row = qwen2();
  row.modelType = "qwen3";
  row.stem = "Qwen3";
  row.keys.headDim = {"head_dim"};
  row.keys.qkvBias = row.keys.attentionOutBias = {false, {"attention_bias"}};
  row.defaults.headDim = 128;
  row.modules.queryNorm = "self_attn.q_norm";
  row.modules.keyNorm = "self_attn.k_norm";
  row.normsOfHeads = true;
  return row;
}

static DecoderFamily phi3() {
  DecoderFamily row = llama();
  row.modelType = "phi3";
  row.stem = "Phi3";
  row.keys.qkvBias = row.keys.attentionOutBias = row.keys.mlpBias = {};
  row.defaults = {32064, 3072, 32, 32};
  row.defaults.intermediate = 8192;
  row.defaults.positions = 4096;
  row.defaults.epsilon = 1e-5;
  row.modules.qkv = "self_attn.qkv_proj";
  row.modules.query = row.modules.key = row.modules.value = "";
  row.modules.gate = "";
  row.modules.up = "mlp.gate_up_proj";
  row.modules.activation = "mlp.activation_fn";
  row.qkv = QkvLayout::Stacked;
  row.mlp = MlpKind::GatedStacked;
  row.partialRotary = true;
  row.window = WindowRule::All;
  row.rotaryTypes = {"default"};
  row.ignoredKeys = {"attention_dropout", "resid_pdrop", "embd_pdrop",
                     "original_max_position_embeddings", "attention_bias"};
  return row;
}

static DecoderFamily gemma2() {
  DecoderFamily row = llama();
  row.modelType = "gemma2";
  row.stem = "Gemma2";
  row.keys.activation = {"hidden_activation"};
  row.keys.mlpBias = {};
  row.keys.attentionCap = {"attn_logit_softcapping"};
  row.keys.logitCap = {"final_logit_softcapping"};
  row.keys.queryScalar = {"query_pre_attn_scalar"};
  row.defaults = {256000, 2304, 26, 8};
  row.defaults.kvHeads = 4;
  row.defaults.headDim = 256;
  row.defaults.intermediate = 9216;
  row.defaults.positions = 8192;
  row.defaults.activation = "gelu_pytorch_tanh";
  row.defaults.tied = true;
  row.defaults.window = 4096;
  row.defaults.attentionCap = 50;
  row.defaults.logitCap = 30;
  row.defaults.queryScalar = 256;
  row.modules.attentionPostNorm = "post_attention_layernorm";
  row.modules.mlpNorm = "pre_feedforward_layernorm";
  row.modules.mlpPostNorm = "post_feedforward_layernorm";
  row.norm = NormKind::RmsOnePlus;
  row.scaledEmbedding = true;
  row.window = WindowRule::EvenLayers;
  row.ignoredKeys = {"attention_dropout", "cache_implementation", "hidden_act"};
  return row;
}

//===----------------------------------------------------------------------===//
// Layer norms and plain MLPs
//===----------------------------------------------------------------------===//

static DecoderKeys gpt2Keys() {
  DecoderKeys keys;
  keys.hidden = {"n_embd", "hidden_size"};
  keys.layers = {"n_layer", "num_hidden_layers"};
  keys.heads = {"n_head", "num_attention_heads"};
  keys.intermediate = {"n_inner"};
  keys.activation = {"activation_function"};
  keys.positions = {"n_positions", "max_position_embeddings"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.qkvBias = keys.attentionOutBias = keys.mlpBias = {true};
  keys.scaleScores = {"scale_attn_weights"};
  keys.scaleByLayer = {"scale_attn_by_inverse_layer_idx"};
  return keys;
}

static DecoderModules gpt2Modules() {
  DecoderModules m = {};
  m.word = "wte";
  m.position = "wpe";
  m.layer = "h.{i}";
  m.attention = "attn";
  m.qkv = "attn.c_attn";
  m.attentionOut = "attn.c_proj";
  m.attentionNorm = "ln_1";
  m.mlpNorm = "ln_2";
  m.up = "mlp.c_fc";
  m.activation = "mlp.act";
  m.down = "mlp.c_proj";
  m.finalNorm = "ln_f";
  return m;
}

static DecoderFamily gpt2() {
  DecoderDefaults absent = {50257, 768, 12, 12};
  absent.positions = 1024;
  absent.epsilon = 1e-5;
  absent.activation = "gelu_new";
  absent.tied = true;
  DecoderFamily row = {"gpt2",     "GPT2", "transformer.",
                       gpt2Keys(), absent, gpt2Modules()};
  row.norm = NormKind::Layer;
  row.positions = DecoderPositions::Learned;
  row.qkv = QkvLayout::Stacked;
  row.mlp = MlpKind::Plain;
  row.transposedWeights = true;
  row.causalHead = "LMHeadModel";
  row.ignoredKeys = {"resid_pdrop",
                     "embd_pdrop",
                     "attn_pdrop",
                     "n_ctx",
                     "reorder_and_upcast_attn",
                     "summary_type",
                     "summary_use_proj",
                     "summary_activation",
                     "summary_proj_to_labels",
                     "summary_first_dropout"};
  return row;
}

static DecoderFamily gptNeox() {
  DecoderKeys keys = llamaKeys();
  keys.kvHeads = keys.headDim = {};
  keys.epsilon = {"layer_norm_eps"};
  keys.qkvBias = keys.attentionOutBias = {true, {"attention_bias"}};
  keys.mlpBias = {true};
  keys.theta = {"rotary_emb_base", "rope_theta"};
  keys.rotaryShare = {"rotary_pct", "partial_rotary_factor"};
  keys.parallelResidual = {"use_parallel_residual"};
  DecoderDefaults absent = {50432, 6144, 44, 64};
  absent.intermediate = 24576;
  absent.positions = 2048;
  absent.epsilon = 1e-5;
  absent.activation = "gelu";
  absent.rotaryShare = 0.25;
  DecoderModules m = {};
  m.word = "embed_in";
  m.rotary = "rotary_emb";
  m.layer = "layers.{i}";
  m.attention = "attention";
  m.qkv = "attention.query_key_value";
  m.attentionOut = "attention.dense";
  m.attentionNorm = "input_layernorm";
  m.mlpNorm = "post_attention_layernorm";
  m.up = "mlp.dense_h_to_4h";
  m.activation = "mlp.act";
  m.down = "mlp.dense_4h_to_h";
  m.finalNorm = "final_layer_norm";
  DecoderFamily row = {"gpt_neox", "GPTNeoX", "gpt_neox.", keys, absent, m};
  row.norm = NormKind::Layer;
  row.qkv = QkvLayout::ByHead;
  row.mlp = MlpKind::Plain;
  row.partialRotary = true;
  row.ignoredKeys = {"attention_dropout", "hidden_dropout",
                     "classifier_dropout"};
  return row;
}

static DecoderModules optModules() {
  DecoderModules m = {};
  m.word = "decoder.embed_tokens";
  m.position = "decoder.embed_positions";
  m.projectIn = "decoder.project_in";
  m.projectOut = "decoder.project_out";
  m.layer = "decoder.layers.{i}";
  m.attention = "self_attn";
  m.query = "self_attn.q_proj";
  m.key = "self_attn.k_proj";
  m.value = "self_attn.v_proj";
  m.attentionOut = "self_attn.out_proj";
  m.attentionNorm = "self_attn_layer_norm";
  m.mlpNorm = "final_layer_norm";
  m.up = "fc1";
  m.activation = "activation_fn";
  m.down = "fc2";
  m.finalNorm = "decoder.final_layer_norm";
  return m;
}

static DecoderFamily opt() {
  DecoderKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.intermediate = {"ffn_dim"};
  keys.activation = {"activation_function"};
  keys.positions = {"max_position_embeddings"};
  keys.qkvBias = keys.attentionOutBias = keys.mlpBias = {true, {"enable_bias"}};
  keys.normBefore = {"do_layer_norm_before"};
  keys.noFinalNorm = {"_remove_final_layer_norm"};
  keys.normsHaveWeights = {"layer_norm_elementwise_affine"};
  keys.embeddingWidth = {"word_embed_proj_dim"};
  DecoderDefaults absent = {50272, 768, 12, 12};
  absent.intermediate = 3072;
  absent.positions = 2048;
  absent.epsilon = 1e-5;
  absent.activation = "relu";
  absent.tied = true;
  DecoderFamily row = {"opt", "OPT", "model.", keys, absent, optModules()};
  row.norm = NormKind::Layer;
  row.positions = DecoderPositions::Learned;
  row.positionOffset = 2;
  row.mlp = MlpKind::Plain;
  row.ignoredKeys = {"dropout", "attention_dropout", "activation_dropout",
                     "layerdrop", "init_std"};
  return row;
}

static DecoderFamily bloom() {
  DecoderKeys keys;
  keys.hidden = {"n_embed", "hidden_size"};
  keys.layers = {"n_layer", "num_hidden_layers"};
  keys.heads = {"n_head", "num_attention_heads"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.qkvBias = keys.attentionOutBias = keys.mlpBias = {true};
  keys.residualFromNorm = {"apply_residual_connection_post_layernorm"};
  DecoderDefaults absent = {250880, 64, 2, 8};
  absent.epsilon = 1e-5;
  absent.activation = "gelu_new";
  absent.tied = true;
  DecoderModules m = {};
  m.word = "word_embeddings";
  m.embeddingNorm = "word_embeddings_layernorm";
  m.layer = "h.{i}";
  m.attention = "self_attention";
  m.qkv = "self_attention.query_key_value";
  m.attentionOut = "self_attention.dense";
  m.attentionNorm = "input_layernorm";
  m.mlpNorm = "post_attention_layernorm";
  m.up = "mlp.dense_h_to_4h";
  m.activation = "mlp.gelu_impl";
  m.down = "mlp.dense_4h_to_h";
  m.finalNorm = "ln_f";
  DecoderFamily row = {"bloom", "Bloom", "transformer.", keys, absent, m};
  row.norm = NormKind::Layer;
  row.positions = DecoderPositions::Alibi;
  row.qkv = QkvLayout::ByHead;
  row.mlp = MlpKind::Plain;
  row.ignoredKeys = {"attention_dropout",
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
  return row;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const std::vector<DecoderFamily> &transom::decoderFamilies() {
  static const std::vector<DecoderFamily> rows = {
      bloom(),   gemma2(), gpt2(), gptNeox(), llama(),
      mistral(), opt(),    phi3(), qwen2(),   qwen3()};
  return rows;
}

const DecoderFamily *transom::findDecoderFamily(const std::string &modelType) {
  for (const DecoderFamily &row : decoderFamilies())
    if (modelType == row.modelType)
      return &row;
  return nullptr;
}

std::vector<DecoderHead> transom::headsOf(const DecoderFamily &family) {
  return {{family.causalHead, "causal_lm"},
          {"ForSequenceClassification", "sequence_classification"},
          {"Model", "none"}};
}
