// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table rows. Defaults for omitted values are the same as in llama.cpp.
#include "compiler/import/gguf/GgufArchitecture.h"
#include <algorithm>

namespace transom::gguf {

using Type = KeyMap::Type;

//===----------------------------------------------------------------------===//
// Decoders with RMS norms
//===----------------------------------------------------------------------===//

static std::vector<KeyMap> getDecoderKeys() {
  return {{"block_count", "num_hidden_layers"},
          {"context_length", "max_position_embeddings"},
          {"embedding_length", "hidden_size"},
          {"feed_forward_length", "intermediate_size"},
          {"attention.head_count", "num_attention_heads"},
          {"attention.head_count_kv", "num_key_value_heads", Type::Size,
           Absent::Heads},
          {"attention.layer_norm_rms_epsilon", "rms_norm_eps", Type::Number},
          {"rope.freq_base", "rope_theta", Type::Number, Absent::Theta}};
}

static KeyMap getHeadSizeKey() {
  return {"attention.key_length", "head_dim", Type::Size, Absent::HeadSize};
}

static KeyMap getWindowKey() {
  return {"attention.sliding_window", "sliding_window", Type::Size,
          Absent::Omit};
}

static std::vector<TensorMap> getDecoderTensors() {
  return {{"token_embd", "model.embed_tokens"},
          {"output_norm", "model.norm"},
          {"output", "lm_head", TensorChange::None, Needs::Maybe},
          {"blk.{i}.attn_norm", "model.layers.{i}.input_layernorm"},
          {"blk.{i}.attn_q", "model.layers.{i}.self_attn.q_proj"},
          {"blk.{i}.attn_k", "model.layers.{i}.self_attn.k_proj"},
          {"blk.{i}.attn_v", "model.layers.{i}.self_attn.v_proj"},
          {"blk.{i}.attn_output", "model.layers.{i}.self_attn.o_proj"},
          {"blk.{i}.ffn_norm", "model.layers.{i}.post_attention_layernorm"},
          {"blk.{i}.ffn_gate", "model.layers.{i}.mlp.gate_proj"},
          {"blk.{i}.ffn_up", "model.layers.{i}.mlp.up_proj"},
          {"blk.{i}.ffn_down", "model.layers.{i}.mlp.down_proj"}};
}

/// Changes the rows whose names end in any given suffix.
template <typename Change>
static void forRows(std::vector<TensorMap> &tensors,
                    std::initializer_list<std::string_view> ends,
                    Change change) {
  for (TensorMap &row : tensors)
    for (std::string_view end : ends)
      if (std::string_view name = row.name;
          name == end || (name.size() > end.size() + 1 &&
                          name.substr(name.size() - end.size()) == end &&
                          name[name.size() - end.size() - 1] == '.'))
        change(row);
}

static void mayHaveBias(Architecture &row,
                        std::initializer_list<std::string_view> ends) {
  forRows(row.tensors, ends,
          [](TensorMap &tensor) { tensor.bias = Needs::Maybe; });
}

//===----------------------------------------------------------------------===//
// The rows
//===----------------------------------------------------------------------===//

/// Llama and Mistral, which is Llama with a window.
static Architecture llama() {
  Architecture row = {"llama", "llama", "LlamaForCausalLM", getDecoderKeys(),
                      getDecoderTensors()};
  row.keys.push_back(getHeadSizeKey());
  row.keys.push_back(getWindowKey());
  row.windowed = {"mistral", "MistralForCausalLM"};
  mayHaveBias(row, {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate",
                    "ffn_up", "ffn_down"});
  row.biases = {{"attention_bias", "blk.0.attn_q.bias"},
                {"mlp_bias", "blk.0.ffn_up.bias"}};
  forRows(row.tensors, {"attn_q"},
          [](TensorMap &tensor) { tensor.change = TensorChange::PairedQuery; });
  forRows(row.tensors, {"attn_k"},
          [](TensorMap &tensor) { tensor.change = TensorChange::PairedKey; });
  return row;
}

static Architecture qwen2() {
  Architecture row = {"qwen2", "qwen2", "Qwen2ForCausalLM", getDecoderKeys(),
                      getDecoderTensors()};
  mayHaveBias(row, {"attn_q", "attn_k", "attn_v"});
  row.biases = {{"qkv_bias", "blk.0.attn_q.bias"}};
  return row;
}

static void addHeadNorms(Architecture &row) {
  row.tensors.push_back(
      {"blk.{i}.attn_q_norm", "model.layers.{i}.self_attn.q_norm"});
  row.tensors.push_back(
      {"blk.{i}.attn_k_norm", "model.layers.{i}.self_attn.k_norm"});
}

static Architecture qwen3() {
  Architecture row = {"qwen3", "qwen3", "Qwen3ForCausalLM", getDecoderKeys(),
                      getDecoderTensors()};
  row.keys.push_back(getHeadSizeKey());
  addHeadNorms(row);
  mayHaveBias(row, {"attn_q", "attn_k", "attn_v", "attn_output"});
  row.biases = {{"attention_bias", "blk.0.attn_q.bias"}};
  return row;
}

static Architecture olmo2() {
  Architecture row = {"olmo2", "olmo2", "Olmo2ForCausalLM", getDecoderKeys(),
                      getDecoderTensors()};
  mayHaveBias(row, {"attn_q", "attn_k", "attn_v", "attn_output"});
  row.biases = {{"attention_bias", "blk.0.attn_q.bias"}};
  // Norms are applied to results instead of attention and MLP inputs.
  forRows(row.tensors, {"attn_norm"}, [](TensorMap &tensor) {
    tensor.name = "blk.{i}.post_attention_norm";
    tensor.module = "model.layers.{i}.post_attention_layernorm";
  });
  forRows(row.tensors, {"ffn_norm"}, [](TensorMap &tensor) {
    tensor.name = "blk.{i}.post_ffw_norm";
    tensor.module = "model.layers.{i}.post_feedforward_layernorm";
  });
  addHeadNorms(row);
  return row;
}

static Architecture phi3() {
  Architecture row = {"phi3", "phi3", "Phi3ForCausalLM", getDecoderKeys(), {}};
  row.keys.push_back(getWindowKey());
  row.rope = RopeShare::Part;
  for (const TensorMap &tensor : getDecoderTensors())
    if (std::string_view name = tensor.name; name != "blk.{i}.attn_k" &&
                                             name != "blk.{i}.attn_v" &&
                                             name != "blk.{i}.ffn_gate")
      row.tensors.push_back(tensor);
  forRows(row.tensors, {"attn_q"}, [](TensorMap &tensor) {
    tensor.name = "blk.{i}.attn_qkv";
    tensor.module = "model.layers.{i}.self_attn.qkv_proj";
  });
  forRows(row.tensors, {"ffn_up"}, [](TensorMap &tensor) {
    tensor.module = "model.layers.{i}.mlp.gate_up_proj";
  });
  return row;
}

static Architecture starcoder2() {
  Architecture row = {"starcoder2",
                      "starcoder2",
                      "Starcoder2ForCausalLM",
                      getDecoderKeys(),
                      {}};
  for (KeyMap &key : row.keys)
    if (std::string_view(key.config) == "rms_norm_eps")
      key = {"attention.layer_norm_epsilon", "norm_epsilon", Type::Number};
  row.keys.push_back(getWindowKey());
  for (const TensorMap &tensor : getDecoderTensors())
    if (std::string_view(tensor.name) != "blk.{i}.ffn_gate")
      row.tensors.push_back(tensor);
  forRows(row.tensors, {"ffn_up"}, [](TensorMap &tensor) {
    tensor.module = "model.layers.{i}.mlp.c_fc";
  });
  forRows(row.tensors, {"ffn_down"}, [](TensorMap &tensor) {
    tensor.module = "model.layers.{i}.mlp.c_proj";
  });
  forRows(row.tensors, {"attn_norm", "ffn_norm", "output_norm"},
          [](TensorMap &tensor) { tensor.bias = Needs::Always; });
  mayHaveBias(
      row, {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"});
  row.biases = {{"use_bias", "blk.0.attn_q.bias"}};
  return row;
}

static void storeNormsPlusOne(Architecture &row) {
  for (TensorMap &tensor : row.tensors)
    if (std::string_view(tensor.name).find("norm") != std::string_view::npos)
      tensor.change = TensorChange::PlusOne;
}

static Architecture gemma() {
  Architecture row = {"gemma", "gemma", "GemmaForCausalLM", getDecoderKeys(),
                      getDecoderTensors()};
  row.keys.push_back(getHeadSizeKey());
  storeNormsPlusOne(row);
  return row;
}

static Architecture gemma2() {
  Architecture row = {"gemma2", "gemma2", "Gemma2ForCausalLM", getDecoderKeys(),
                      getDecoderTensors()};
  row.keys.push_back(getHeadSizeKey());
  row.keys.push_back(getWindowKey());
  row.keys.push_back({"attn_logit_softcapping", "attn_logit_softcapping",
                      Type::Number, Absent::Omit});
  row.keys.push_back({"final_logit_softcapping", "final_logit_softcapping",
                      Type::Number, Absent::Omit});
  forRows(row.tensors, {"ffn_norm"}, [](TensorMap &tensor) {
    tensor.module = "model.layers.{i}.pre_feedforward_layernorm";
  });
  row.tensors.push_back({"blk.{i}.post_attention_norm",
                         "model.layers.{i}.post_attention_layernorm"});
  row.tensors.push_back(
      {"blk.{i}.post_ffw_norm", "model.layers.{i}.post_feedforward_layernorm"});
  storeNormsPlusOne(row);
  row.scalarKey = "query_pre_attn_scalar";
  row.wideScalarLayers = 46; // 27 billion parameters
  return row;
}

static Architecture gemma3() {
  Architecture row = gemma2();
  row.name = "gemma3";
  row.modelType = "gemma3_text";
  row.className = "Gemma3ForCausalLM";
  row.keys.erase(
      std::find_if(row.keys.begin(), row.keys.end(), [](const KeyMap &key) {
        return std::string_view(key.key) == "attn_logit_softcapping";
      }));
  row.keys.push_back({"rope.freq_base_swa", "rope_local_base_freq",
                      Type::Number, Absent::Omit});
  addHeadNorms(row);
  storeNormsPlusOne(row);
  row.periodKey = "sliding_window_pattern";
  row.wideScalarLayers = 62; // 27 billion parameters
  return row;
}

static Architecture gpt2() {
  Architecture row = {"gpt2", "gpt2", "GPT2LMHeadModel", {}, {}};
  row.keys = {
      {"block_count", "n_layer"},
      {"context_length", "n_positions"},
      {"embedding_length", "n_embd"},
      {"feed_forward_length", "n_inner"},
      {"attention.head_count", "n_head"},
      {"attention.layer_norm_epsilon", "layer_norm_epsilon", Type::Number}};
  row.tensors = {{"token_embd", "transformer.wte"},
                 {"position_embd", "transformer.wpe"},
                 {"output_norm", "transformer.ln_f"},
                 {"output", "lm_head", TensorChange::None, Needs::Maybe},
                 {"blk.{i}.attn_norm", "transformer.h.{i}.ln_1"},
                 {"blk.{i}.attn_qkv", "transformer.h.{i}.attn.c_attn"},
                 {"blk.{i}.attn_output", "transformer.h.{i}.attn.c_proj"},
                 {"blk.{i}.ffn_norm", "transformer.h.{i}.ln_2"},
                 {"blk.{i}.ffn_up", "transformer.h.{i}.mlp.c_fc"},
                 {"blk.{i}.ffn_down", "transformer.h.{i}.mlp.c_proj"}};
  forRows(row.tensors,
          {"attn_qkv", "attn_output", "ffn_up", "ffn_down", "attn_norm",
           "ffn_norm", "output_norm"},
          [](TensorMap &tensor) { tensor.bias = Needs::Always; });
  forRows(row.tensors, {"attn_qkv", "attn_output", "ffn_up", "ffn_down"},
          [](TensorMap &tensor) { tensor.change = TensorChange::Transposed; });
  row.rope = RopeShare::None;
  return row;
}

static Architecture bert() {
  Architecture row = {"bert", "bert", "BertModel", {}, {}};
  row.keys = {{"block_count", "num_hidden_layers"},
              {"context_length", "max_position_embeddings"},
              {"embedding_length", "hidden_size"},
              {"feed_forward_length", "intermediate_size"},
              {"attention.head_count", "num_attention_heads"},
              {"attention.layer_norm_epsilon", "layer_norm_eps", Type::Number}};
  row.tensors = {
      {"token_embd", "embeddings.word_embeddings"},
      {"position_embd", "embeddings.position_embeddings"},
      {"token_types", "embeddings.token_type_embeddings", TensorChange::None,
       Needs::Maybe},
      {"token_embd_norm", "embeddings.LayerNorm"},
      {"blk.{i}.attn_q", "encoder.layer.{i}.attention.self.query"},
      {"blk.{i}.attn_k", "encoder.layer.{i}.attention.self.key"},
      {"blk.{i}.attn_v", "encoder.layer.{i}.attention.self.value"},
      {"blk.{i}.attn_output", "encoder.layer.{i}.attention.output.dense"},
      {"blk.{i}.attn_output_norm",
       "encoder.layer.{i}.attention.output.LayerNorm"},
      {"blk.{i}.ffn_up", "encoder.layer.{i}.intermediate.dense"},
      {"blk.{i}.ffn_down", "encoder.layer.{i}.output.dense"},
      {"blk.{i}.layer_output_norm", "encoder.layer.{i}.output.LayerNorm"}};
  for (TensorMap &tensor : row.tensors)
    if (std::string_view name = tensor.name;
        name == "token_embd_norm" || name.substr(0, 4) == "blk.")
      tensor.bias = Needs::Always;
  row.rope = RopeShare::None;
  row.isEncoder = true;
  row.tokenTypes = true;
  return row;
}

/// Nomic BERT with GLUs; its config has GPT-2's keys.
static Architecture nomicBert() {
  Architecture row = {"nomic-bert", "nomic_bert", "NomicBertModel", {}, {}};
  row.keys = {
      {"block_count", "n_layer"},
      {"context_length", "n_positions"},
      {"embedding_length", "n_embd"},
      {"feed_forward_length", "n_inner"},
      {"attention.head_count", "n_head"},
      {"attention.layer_norm_epsilon", "layer_norm_epsilon", Type::Number},
      {"rope.freq_base", "rotary_emb_base", Type::Number, Absent::Theta}};
  row.fixedConfig = {
      {"activation_function", "swiglu"}, {"qkv_proj_bias", false},
      {"mlp_fc1_bias", false},           {"mlp_fc2_bias", false},
      {"rotary_emb_fraction", 1.0},      {"rotary_emb_interleaved", false}};
  row.tensors = {{"token_embd", "embeddings.word_embeddings"},
                 {"token_types", "embeddings.token_type_embeddings",
                  TensorChange::None, Needs::Maybe},
                 {"token_embd_norm", "emb_ln"},
                 {"blk.{i}.attn_qkv", "encoder.layers.{i}.attn.Wqkv"},
                 {"blk.{i}.attn_output", "encoder.layers.{i}.attn.out_proj"},
                 {"blk.{i}.attn_output_norm", "encoder.layers.{i}.norm1"},
                 {"blk.{i}.ffn_up", "encoder.layers.{i}.mlp.fc11"},
                 {"blk.{i}.ffn_gate", "encoder.layers.{i}.mlp.fc12"},
                 {"blk.{i}.ffn_down", "encoder.layers.{i}.mlp.fc2"},
                 {"blk.{i}.layer_output_norm", "encoder.layers.{i}.norm2"}};
  forRows(row.tensors,
          {"token_embd_norm", "attn_output_norm", "layer_output_norm"},
          [](TensorMap &tensor) { tensor.bias = Needs::Always; });
  row.isEncoder = true;
  row.tokenTypes = true;
  return row;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static const std::vector<Architecture> &getRows() {
  static const std::vector<Architecture> rows = {
      bert(),  gemma(),     gemma2(), gemma3(), gpt2(),  llama(),
      olmo2(), nomicBert(), phi3(),   qwen2(),  qwen3(), starcoder2()};
  return rows;
}

const Architecture *findArchitecture(std::string_view name) {
  for (const Architecture &row : getRows())
    if (row.name == name)
      return &row;
  return nullptr;
}

std::vector<std::string> getArchitectureNames() {
  std::vector<std::string> names;
  for (const Architecture &row : getRows())
    names.push_back(row.name);
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<FixedKey> &getFixedKeys() {
  static const std::vector<FixedKey> keys = {
      {"expert_count", 0},
      {"expert_used_count", 0},
      {"nextn_predict_layers", 0},
      {"attention.clamp_kqv", 0},
      {"attention.max_alibi_bias", 0},
      {"attention.scale", 0},
      {"attention.sliding_window", 0},
      {"attention.temperature_length", 0},
      {"attention.temperature_scale", 1},
      {"attn_logit_softcapping", 0},
      {"final_logit_softcapping", 0},
      {"logit_scale", 1},
      {"residual_scale", 1},
      {"embedding_scale", 1},
      {"rope.freq_base_swa", 0},
      {"use_parallel_residual", 0}};
  return keys;
}

const std::vector<std::string_view> &getKeysWithoutEffect() {
  static const std::vector<std::string_view> keys = {
      "vocab_size", // the word embedding rows determine it
      "tensor_data_layout", "rope.scaling.finetuned",
      "rope.scaling.original_context_length"}; // no effect without scaling
  return keys;
}

} // namespace transom::gguf
