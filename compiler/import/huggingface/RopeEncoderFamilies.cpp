// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders with rope: Jina embeddings 3, Nomic BERT, GTE and EuroBERT. Names
// are those of the checkpoints, which are older than the classes of
// transformers 5; defaults are those of these classes.
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
  family.ignoredKeys = {"hidden_dropout_prob", "attention_probs_dropout_prob",
                        "classifier_dropout"};
  return family;
}

/// Modules as FlashAttention names them.
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

/// A GLU whose gate is its second projection; no biases but of norms.
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
  return family;
}

//===----------------------------------------------------------------------===//
// GTE
//===----------------------------------------------------------------------===//

static std::vector<FamilyHead> gteHeads() {
  return {
      head::bare(),
      head::maskedLm(
          {linear("lm_head.dense", Width::Hidden), head::activation("gelu"),
           head::norm("lm_head.norm"),
           head::vocabulary("lm_head.decoder", {"lm_head.decoder.bias"})}),
      head::sequence({{Kind::Pooler}, linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
  };
}

/// A GLU in one projection, with the gate last; only `down` has a bias.
static ModelFamily gte() {
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
  family.heads = gteHeads();
  return family;
}

//===----------------------------------------------------------------------===//
// EuroBERT
//===----------------------------------------------------------------------===//

/// Llama whose tokens see each other.
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
  family.ignoredKeys = {"pretraining_tp", "attention_dropout",
                        "hidden_dropout"};
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::ropeEncoderFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(euroBert());
  families.push_back(gte());
  families.push_back(jinaEmbeddingsV3());
  families.push_back(nomicBert());
  return families;
}
