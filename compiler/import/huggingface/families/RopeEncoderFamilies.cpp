// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders with rope: Jina embeddings 3, Nomic BERT, GTE and EuroBERT. Names
// are the checkpoint names, which are older than the transformers 5 classes;
// defaults are the same as in these classes.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;
using head::linear;
using head::Width;
using Kind = HeadStep::Kind;

/// BERT with rope: its keys, and norms after attention and MLP.
static ModelFamily ropeBert() {
  ModelFamily family = bertEntry();
  FamilyKeys &keys = family.keys;
  keys.headDim = {"head_dim"};
  keys.theta = {"rope_theta"};
  FamilyModules &m = family.modules;
  m.position = m.query = m.key = m.value = "";
  m.attentionAdd = m.mlpAdd = "";
  m.rope = "rotary_emb";
  family.positions = PositionEncoding::Rope;
  family.qkv = QkvLayout::Stacked;
  family.positionType = "absolute|rope|rotary"; // the classes ignore it
  family.ignoredKeys = {"hidden_dropout_prob", "attention_probs_dropout_prob",
                        "classifier_dropout"};
  return family;
}

/// Sets FlashAttention's module names.
static void nameFlashModules(FamilyModules &m) {
  m.embeddingNorm = "emb_ln";
  m.layer = "encoder.layers.{i}";
  m.attentionNorm = "norm1";
  m.activation = "mlp.activation";
  m.down = "mlp.fc2";
  m.mlpNorm = "norm2";
}

//===----------------------------------------------------------------------===//
// Jina embeddings 3
//===----------------------------------------------------------------------===//

/// XLM-RoBERTa with rope.
static ModelFamily jinaEmbeddingsV3() {
  ModelFamily family = ropeBert();
  family.modelType = "jina_embeddings_v3";
  family.className = "JinaEmbeddingsV3";
  family.prefix = "roberta.";
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 250002;
  defaults.hidden = 1024;
  defaults.layers = 24;
  defaults.heads = 16;
  defaults.intermediate = 4096;
  defaults.positions = 8194;
  defaults.types = 1;
  defaults.epsilon = 1e-5;
  defaults.theta = 20000;
  FamilyModules &m = family.modules;
  nameFlashModules(m);
  m.attention = "mixer";
  m.qkv = "mixer.Wqkv";
  m.output = "mixer.out_proj";
  m.up = "mlp.fc1";
  family.heads = head::ofRoberta();
  return family;
}

/// The same model as named in the checkpoints' code: XLM-RoBERTa with
/// FlashAttention, optionally with adapters.
ModelFamily transom::flashXlmRobertaEntry() {
  ModelFamily family = jinaEmbeddingsV3();
  family.modelType = "xlm-roberta";
  family.className = "XLMRoberta";
  family.keys.headDim = {};
  family.keys.theta = {"rotary_emb_base"};
  family.keys.tasks = {"lora_adaptations"};
  family.keys.taskRank = {"lora_rank"};
  family.keys.taskAlpha = {"lora_alpha"};
  family.keys.taskPrefixes = {"task_instructions"};
  family.defaults.theta = 10000;
  family.positionType = "rotary";
  FamilyHead adapted = head::bare();
  adapted.suffix = "LoRA";
  family.heads.push_back(adapted);
  for (const char *key :
       {"use_flash_attn", "use_reentrant", "emb_pooler", "truncate_dim",
        "matryoshka_dimensions", "lora_dropout_p", "output_past",
        "lora_main_params_trainable", "load_trained_adapters"})
    family.ignoredKeys.push_back(key);
  return family;
}

//===----------------------------------------------------------------------===//
// Nomic BERT
//===----------------------------------------------------------------------===//

static std::vector<FamilyHead> nomicBertHeads() {
  return {
      head::bare(),
      head::maskedLm({linear("cls.predictions.transform.dense", Width::Hidden),
                      head::activation(),
                      head::norm("cls.predictions.transform.layer_norm"),
                      head::vocabulary("cls.predictions.decoder",
                                       {"cls.predictions.decoder.bias",
                                        "cls.predictions.bias"})}),
      head::sequence({{Kind::Pooler}, linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
  };
}

/// Config keys in the checkpoints' code, which are GPT-2's keys.
static FamilyKeys remoteNomicKeys() {
  FamilyKeys keys = bertEntry().keys;
  keys.vocabMultiple = {"pad_vocab_size_multiple"};
  keys.hidden = {"n_embd", "hidden_size"};
  keys.layers = {"n_layer", "num_hidden_layers"};
  keys.heads = {"n_head", "num_attention_heads"};
  keys.intermediate = {"n_inner"};
  keys.activation = {};
  keys.positions = {"n_positions", "max_position_embeddings"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.qkvBias = keys.outputBias = {true, {"qkv_proj_bias"}};
  keys.mlpBias = {true, {"mlp_fc1_bias"}};
  keys.downBias = {true, {"mlp_fc2_bias"}};
  keys.headBias = keys.vocabularyBias = keys.mlpBias;
  keys.headActivation = {"activation_function"};
  keys.theta = {"rotary_emb_base"};
  keys.ropeFraction = {"rotary_emb_fraction"};
  keys.interleavedRope = {"rotary_emb_interleaved"};
  return keys;
}

/// MLP selected by `activation_function`: a plain one with the exact GELU,
/// whichever form the key names, or a GLU.
static FamilyChoice remoteNomicGlu(const char *name, const char *activation,
                                   const char *headActivation) {
  return {{"activation_function"}, name, [=](ModelFamily &family) {
            family.mlp = MlpKind::Glu;
            family.mlpMultiple = 256;
            family.defaults.intermediateThirds = 8;
            family.defaults.activation = activation;
            family.defaults.headActivation = headActivation;
            family.keys.headActivation = {};
            family.modules.up = "mlp.fc11";
            family.modules.gate = "mlp.fc12";
            family.supportedValues.front().value = name;
          }};
}

/// That code's layout, which has more features than the transformers class.
static ModelFamily remoteNomicBert(ModelFamily family) {
  family.prefix = "bert.";
  family.keys = remoteNomicKeys();
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 50257;
  defaults.intermediate = 0;
  defaults.positions = 1024;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu";
  defaults.headActivation = "gelu_new";
  defaults.theta = 10000;
  family.modules.up = "mlp.fc1";
  family.modules.gate = "";
  family.mlp = MlpKind::Plain;
  family.partialRope = family.wholeRope = family.typesOptional = true;
  family.ropeTypes = {"default"};
  HeadStep dense = linear("cls.predictions.transform.dense", Width::Hidden,
                          head::Bias::AsConfig);
  family.heads = nomicBertHeads();
  for (const char *suffix : {"ForPreTraining", "ForMaskedLM"}) {
    FamilyHead masked = family.heads[1];
    masked.suffix = suffix;
    masked.results[0].steps[0] = dense;
    family.heads.push_back(masked);
  }
  family.heads.erase(family.heads.begin() + 1);
  family.heads.push_back(head::questionAnswering());
  family.supportedValues = {
      {"activation_function", "gelu_new|gelu|gelu_fast|gelu_pytorch_tanh"},
      {"prenorm", "false"},
      {"parallel_block", "false"},
      {"use_rms_norm", "false"},
      {"causal", "false"},
      {"norm_mlp", "false"},
      {"rotary_emb_scale_base", "null"},
      {"rotary_head_dim", "false"},
      {"num_heads_kv", "null"},
      {"moe_every_n_layers", "0"},
      {"last_layer_subset", "false"}};
  family.ignoredKeys = {"attn_pdrop",
                        "embd_pdrop",
                        "resid_pdrop",
                        "summary_activation",
                        "summary_first_dropout",
                        "summary_proj_to_labels",
                        "summary_type",
                        "summary_use_proj",
                        "classifier_dropout",
                        "n_ctx",
                        "scale_attn_weights",
                        "reorder_and_upcast_attn",
                        "dense_seq_output",
                        "fused_bias_fc",
                        "fused_dropout_add_ln",
                        "use_flash_attn",
                        "use_xentropy",
                        "add_pooling_layer",
                        "ffn_div",
                        "num_experts",
                        "num_shared_experts",
                        "moe_top_k",
                        "moe_impl",
                        "moe_normalize_expert_weights",
                        "moe_resid_pdrop",
                        "expert_choice_router",
                        "router_aux_loss_coef",
                        "parallel_block_tied_norm",
                        "scale_attn_by_inverse_layer_idx",
                        "rotary_scaling_factor",
                        "max_trained_positions"};
  // Without rope, positions are learned. With scaling, rope depends on the
  // length if texts are longer than in training.
  return withChoices(
      family,
      {{{"rotary_emb_fraction"},
        "none",
        [](ModelFamily &changed) {
          changed.positions = PositionEncoding::Learned;
          changed.modules.position = "embeddings.position_embeddings";
          changed.modules.rope = "";
          changed.keys.theta = changed.keys.ropeFraction = {};
          for (const char *key : {"rotary_emb_base", "rotary_emb_interleaved"})
            changed.ignoredKeys.push_back(key);
        }},
       {{"rotary_scaling_factor"},
        "some",
        [](ModelFamily &changed) {
          if (changed.positions != PositionEncoding::Rope)
            return;
          changed.keys.positions = {"max_trained_positions"};
          changed.defaults.positions = 2048;
          changed.ignoredKeys.push_back("n_positions");
        }},
       remoteNomicGlu("swiglu", "silu", "silu"),
       remoteNomicGlu("geglu", "gelu", "gelu"),
       remoteNomicGlu("glu", "sigmoid", "gelu")});
}

/// A GLU whose gate is its second projection; only norms have biases.
static ModelFamily nomicBert() {
  ModelFamily family = ropeBert();
  family.modelType = "nomic_bert";
  family.className = "NomicBert";
  family.prefix = "nomic_bert.";
  family.keys.qkvBias = family.keys.outputBias = family.keys.mlpBias = {};
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 30528;
  defaults.positions = 2048;
  defaults.theta = 1000;
  defaults.activation = "silu";
  FamilyModules &m = family.modules;
  nameFlashModules(m);
  m.attention = "attn";
  m.qkv = "attn.Wqkv";
  m.output = "attn.out_proj";
  m.up = "mlp.fc11";
  m.gate = "mlp.fc12";
  family.mlp = MlpKind::Glu;
  family.heads = nomicBertHeads();
  family.variants = {{{"n_embd"}, "some", {remoteNomicBert(family)}}};
  return family;
}

//===----------------------------------------------------------------------===//
// GTE
//===----------------------------------------------------------------------===//

/// `activation` belongs to the masked-LM head; null: the config's.
static std::vector<FamilyHead> gteHeads(const char *activation) {
  return {
      head::bare(),
      head::maskedLm(
          {linear("lm_head.dense", Width::Hidden), head::activation(activation),
           head::norm("lm_head.norm"),
           head::vocabulary("lm_head.decoder", {"lm_head.decoder.bias"})}),
      head::sequence({{Kind::Pooler}, linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
  };
}

/// A GLU in one projection, with the gate last; only `down` has a bias. The
/// checkpoints' code also supports other norms and layouts.
static ModelFamily gteEntry(void rename(ModelFamily &),
                            std::vector<FamilyChoice> choices) {
  ModelFamily family = ropeBert();
  family.modelType = "gte";
  family.className = "Gte";
  family.prefix = "gte.";
  family.keys.mlpBias = {};
  family.keys.downBias = {true};
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 250048;
  defaults.positions = 8192;
  defaults.types = 1;
  defaults.theta = 160000;
  FamilyModules &m = family.modules;
  m.attention = "attention";
  m.qkv = "attention.qkv_proj";
  m.output = "attention.o_proj";
  m.attentionNorm = "attn_ln";
  m.up = "mlp.up_gate_proj";
  m.activation = "mlp.act_fn";
  m.down = "mlp.down_proj";
  m.mlpNorm = "mlp_ln";
  family.mlp = MlpKind::StackedUpGlu;
  family.typesOptional = true;
  family.heads = gteHeads("gelu");
  family.supportedValues = {{"layer_norm_type", "layer_norm"},
                            {"logn_attention_scale", "false"}};
  for (const char *key : {"unpad_inputs", "use_memory_efficient_attention",
                          "matryoshka_dimensions", "logn_attention_clip1"})
    family.ignoredKeys.push_back(key);
  rename(family);
  choices.push_back({{"pack_qkv"}, "false", [](ModelFamily &changed) {
                       changed.qkv = QkvLayout::Separate;
                       changed.modules.qkv = "";
                       changed.modules.query = "attention.q_proj";
                       changed.modules.key = "attention.k_proj";
                       changed.modules.value = "attention.v_proj";
                     }});
  choices.push_back({{"layer_norm_type"}, "rms_norm", [](ModelFamily &changed) {
                       changed.normKind = NormKind::Rms;
                       changed.outerNormKind = NormKind::Layer;
                       changed.supportedValues.front().value = "rms_norm";
                     }});
  return withChoices(family, choices);
}

/// GTE as named in the checkpoints' code.
static ModelFamily gteNew() {
  FamilyChoice learned = {
      {"position_embedding_type"}, "absolute", [](ModelFamily &changed) {
        changed.positions = PositionEncoding::Learned;
        changed.positionType = "absolute";
        changed.modules.position = "embeddings.position_embeddings";
        changed.modules.rope = "";
        changed.keys.theta = {};
        for (const char *key : {"rope_theta", "rope_scaling"})
          changed.ignoredKeys.push_back(key);
      }};
  auto rename = [](ModelFamily &family) {
    family.modelType = "new";
    family.className = "New";
    family.prefix = "new.";
    family.keys.headDim = {};
    FamilyDefaults &defaults = family.defaults;
    defaults.vocab = 30528;
    defaults.positions = 2048;
    defaults.theta = 10000;
    family.positionType = "rope";
    family.ropeTypes = {"default", "ntk"};
    family.heads = gteHeads(nullptr);
    family.heads.push_back(head::questionAnswering());
  };
  return gteEntry(rename, {learned});
}

//===----------------------------------------------------------------------===//
// EuroBERT
//===----------------------------------------------------------------------===//

/// Llama with bidirectional attention.
static ModelFamily euroBert() {
  ModelFamily family = llamaEntry();
  family.modelType = "eurobert";
  family.className = "EuroBert";
  family.kind = ModelKind::Encoder;
  family.keys.pooling = {"classifier_pooling", "clf_pooling"};
  family.keys.vocabularyBias = {false, {"mlp_bias"}};
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 128256;
  defaults.hidden = 768;
  defaults.layers = defaults.heads = 12;
  defaults.intermediate = 3072;
  defaults.positions = 8192;
  defaults.epsilon = 1e-5;
  family.poolings = {{"late", Pooling::Late},
                     {"bos", Pooling::First},
                     {"mean", Pooling::Mean}};
  family.heads = {
      head::bare(),
      head::maskedLm({head::vocabulary("lm_head", {"lm_head.bias"})}),
      head::sequence({{Kind::Pool},
                      linear("dense", Width::Hidden),
                      head::activation("gelu"),
                      linear("classifier", Width::Labels),
                      {Kind::PoolLate}}),
      head::token({linear("classifier", Width::Labels)}),
  };
  family.ignoredKeys = {"pretraining_tp", "attention_dropout", "hidden_dropout",
                        "bos_token",      "eos_token",         "pad_token",
                        "mask_token"};
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::ropeEncoderFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(euroBert());
  families.push_back(gteEntry([](ModelFamily &) {}, {}));
  families.push_back(gteNew());
  families.push_back(jinaEmbeddingsV3());
  families.push_back(nomicBert());
  return families;
}
