// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BERT and encoders with their own features. Names are the checkpoint names;
// defaults are the same as in the config classes of transformers 4 and 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;
using head::linear;
using head::Width;
using Kind = HeadStep::Kind;

//===----------------------------------------------------------------------===//
// BERT
//===----------------------------------------------------------------------===//

static FamilyKeys bertKeys() {
  FamilyKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.intermediate = {"intermediate_size"};
  keys.activation = {"hidden_act"};
  keys.positions = {"max_position_embeddings"};
  keys.types = {"type_vocab_size"};
  keys.epsilon = {"layer_norm_eps"};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {true};
  return keys;
}

static FamilyDefaults bertDefaults() {
  FamilyDefaults defaults = {30522, 768, 12, 12};
  defaults.intermediate = 3072;
  defaults.positions = 512;
  defaults.types = 2;
  defaults.epsilon = 1e-12;
  defaults.activation = "gelu";
  defaults.tied = true;
  return defaults;
}

static FamilyModules bertModules() {
  FamilyModules m;
  m.embeddings = "embeddings";
  m.word = "embeddings.word_embeddings";
  m.position = "embeddings.position_embeddings";
  m.type = "embeddings.token_type_embeddings";
  m.embeddingNorm = "embeddings.LayerNorm";
  m.layer = "encoder.layer.{i}";
  m.attention = "attention.self";
  m.query = "attention.self.query";
  m.key = "attention.self.key";
  m.value = "attention.self.value";
  m.output = "attention.output.dense";
  m.attentionAdd = "attention.output";
  m.attentionNorm = "attention.output.LayerNorm";
  m.up = "intermediate.dense";
  m.activation = "intermediate.intermediate_act_fn";
  m.down = "output.dense";
  m.mlpAdd = "output";
  m.mlpNorm = "output.LayerNorm";
  m.pooler = "pooler";
  m.poolerDense = "pooler.dense";
  return m;
}

/// Steps for the result of `ForMaskedLM`.
static std::vector<HeadStep> bertPredictions() {
  return {linear("cls.predictions.transform.dense", Width::Hidden),
          head::activation(), head::norm("cls.predictions.transform.LayerNorm"),
          head::vocabulary(
              "cls.predictions.decoder",
              {"cls.predictions.decoder.bias", "cls.predictions.bias"})};
}

static std::vector<FamilyHead> bertHeads() {
  std::vector<HeadStep> nextSentence = {
      {Kind::Pooler}, linear("cls.seq_relationship", Width::Two)};
  return {
      head::bare(),
      head::maskedLm(bertPredictions()),
      head::sequence({{Kind::Pooler}, linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
      head::questionAnswering(),
      head::logits("ForNextSentencePrediction", "next_sentence", false,
                   nextSentence),
      {"ForPreTraining",
       "pretraining",
       false,
       {{"prediction_logits", bertPredictions()},
        {"seq_relationship_logits", nextSentence}}},
  };
}

ModelFamily transom::bertEntry() {
  ModelFamily family = {"bert",     "Bert",         "bert.",
                        bertKeys(), bertDefaults(), bertModules()};
  family.kind = ModelKind::Encoder;
  family.normKind = NormKind::Layer;
  family.normPlacement = NormPlacement::Post;
  family.positions = PositionEncoding::Learned;
  family.mlp = MlpKind::Plain;
  family.heads = bertHeads();
  family.ignoredKeys = {"hidden_dropout_prob",  "attention_probs_dropout_prob",
                        "classifier_dropout",   "directionality",
                        "pooler_fc_size",       "pooler_num_attention_heads",
                        "pooler_num_fc_layers", "pooler_size_per_head",
                        "pooler_type",          "output_past"};
  return family;
}

/// BERT, or JinaBERT.
static ModelFamily bert() {
  ModelFamily family = bertEntry();
  family.variants = {{{"position_embedding_type"}, "alibi", {jinaBertEntry()}}};
  return family;
}

//===----------------------------------------------------------------------===//
// ALBERT
//===----------------------------------------------------------------------===//

static FamilyModules albertModules() {
  FamilyModules m = bertEntry().modules;
  m.projectIn = "encoder.embedding_hidden_mapping_in";
  m.layer = "encoder.albert_layer_groups.{i}.albert_layers.{inner}";
  m.attention = "attention";
  m.query = "attention.query";
  m.key = "attention.key";
  m.value = "attention.value";
  m.output = "attention.dense";
  m.attentionAdd = "attention";
  m.attentionNorm = "attention.LayerNorm";
  m.up = "ffn";
  m.activation = "activation";
  m.down = "ffn_output";
  m.mlpAdd = "";
  m.mlpNorm = "full_layer_layer_norm";
  m.poolerDense = "pooler";
  return m;
}

/// Layers share weights by group, and the embedding is always projected.
static ModelFamily albert() {
  ModelFamily family = bertEntry();
  family.modelType = "albert";
  family.className = "Albert";
  family.prefix = "albert.";
  family.keys.embeddingWidth = {"embedding_size"};
  family.keys.layerGroups = {"num_hidden_groups"};
  family.keys.innerLayers = {"inner_group_num"};
  FamilyDefaults &defaults = family.defaults;
  defaults.vocab = 30000;
  defaults.hidden = 4096;
  defaults.heads = 64;
  defaults.intermediate = 16384;
  defaults.embeddingWidth = 128;
  defaults.activation = "gelu_new";
  family.modules = albertModules();
  family.projection = EmbeddingProjection::AfterNorm;
  family.alwaysProjects = true;
  std::vector<HeadStep> predictions = {
      linear("predictions.dense", Width::Embedding), head::activation(),
      head::norm("predictions.LayerNorm"),
      head::vocabulary("predictions.decoder",
                       {"predictions.decoder.bias", "predictions.bias"})};
  FamilyHead pretraining = {
      "ForPreTraining",
      "pretraining",
      false,
      {{"prediction_logits", predictions},
       {"sop_logits",
        {{Kind::Pooler}, linear("sop_classifier.classifier", Width::Two)}}}};
  pretraining.fixedLabels = true;
  family.heads = {
      head::bare(),
      head::maskedLm(predictions),
      pretraining,
      head::sequence({{Kind::Pooler}, linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
      head::questionAnswering(),
  };
  family.ignoredKeys = {"hidden_dropout_prob",
                        "attention_probs_dropout_prob",
                        "classifier_dropout_prob",
                        "down_scale_factor",
                        "gap_size",
                        "net_structure_type",
                        "num_memory_blocks"};
  return family;
}

//===----------------------------------------------------------------------===//
// DistilBERT
//===----------------------------------------------------------------------===//

static ModelFamily distilbert() {
  ModelFamily family = bertEntry();
  family.modelType = "distilbert";
  family.className = "DistilBert";
  family.prefix = "distilbert.";
  FamilyKeys &keys = family.keys;
  keys.hidden = {"dim", "hidden_size"};
  keys.layers = {"n_layers", "num_hidden_layers"};
  keys.heads = {"n_heads", "num_attention_heads"};
  keys.intermediate = {"hidden_dim"};
  keys.activation = {"activation"};
  keys.types = keys.epsilon = {};
  family.defaults.layers = 6;
  family.defaults.types = 0;
  FamilyModules &m = family.modules;
  m.type = m.pooler = "";
  m.layer = "transformer.layer.{i}";
  m.attention = "attention";
  m.query = "attention.q_lin";
  m.key = "attention.k_lin";
  m.value = "attention.v_lin";
  m.output = "attention.out_lin";
  m.attentionAdd = m.mlpAdd = "";
  m.attentionNorm = "sa_layer_norm";
  m.up = "ffn.lin1";
  m.activation = "ffn.activation";
  m.down = "ffn.lin2";
  m.mlpNorm = "output_layer_norm";
  family.heads = {
      head::bare(),
      head::maskedLm(
          {linear("vocab_transform", Width::Hidden), head::activation(),
           head::norm("vocab_layer_norm"),
           head::vocabulary("vocab_projector", {"vocab_projector.bias"})}),
      head::sequence({{Kind::First},
                      linear("pre_classifier", Width::Hidden),
                      head::activation("relu"),
                      linear("classifier", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
      head::questionAnswering(),
  };
  family.ignoredKeys = {"dropout",      "attention_dropout",
                        "qa_dropout",   "seq_classif_dropout",
                        "tie_weights_", "sinusoidal_pos_embds"};
  return family;
}

//===----------------------------------------------------------------------===//
// ELECTRA
//===----------------------------------------------------------------------===//

/// The discriminator: one logit per token, positive if the token was replaced.
static FamilyHead electraDiscriminator() {
  return {"ForPreTraining",
          "replaced_token_detection",
          false,
          {{"logits",
            {linear("discriminator_predictions.dense", Width::Hidden),
             head::activation(),
             linear("discriminator_predictions.dense_prediction", Width::One)},
            /*isNumber=*/true}}};
}

/// The embedding may be narrower than the hidden size, and is projected.
static ModelFamily electra() {
  ModelFamily family = bertEntry();
  family.modelType = "electra";
  family.className = "Electra";
  family.prefix = "electra.";
  family.keys.embeddingWidth = {"embedding_size"};
  family.defaults.hidden = 256;
  family.defaults.heads = 4;
  family.defaults.intermediate = 1024;
  family.defaults.embeddingWidth = 128;
  family.modules.projectIn = "embeddings_project";
  family.modules.pooler = "";
  family.projection = EmbeddingProjection::AfterNorm;
  family.heads = {
      head::bare(),
      head::maskedLm(
          {linear("generator_predictions.dense", Width::Embedding),
           head::activation("gelu"),
           head::norm("generator_predictions.LayerNorm"),
           head::vocabulary("generator_lm_head", {"generator_lm_head.bias"})}),
      electraDiscriminator(),
      head::sequence({{Kind::First},
                      linear("classifier.dense", Width::Hidden),
                      head::activation("gelu"),
                      linear("classifier.out_proj", Width::Labels)}),
      head::token({linear("classifier", Width::Labels)}),
      head::questionAnswering(),
  };
  family.ignoredKeys = {"hidden_dropout_prob", "attention_probs_dropout_prob",
                        "classifier_dropout",  "summary_type",
                        "summary_use_proj",    "summary_activation",
                        "summary_last_dropout"};
  return family;
}

//===----------------------------------------------------------------------===//
// ModernBERT
//===----------------------------------------------------------------------===//

static FamilyKeys modernBertKeys() {
  FamilyKeys keys;
  keys.hidden = {"hidden_size"};
  keys.layers = {"num_hidden_layers"};
  keys.heads = {"num_attention_heads"};
  keys.intermediate = {"intermediate_size"};
  keys.activation = {"hidden_activation"};
  keys.positions = {"max_position_embeddings"};
  keys.epsilon = {"norm_eps"};
  keys.qkvBias = keys.outputBias = {false, {"attention_bias"}};
  keys.mlpBias = {false, {"mlp_bias"}};
  keys.normBias = {false, {"norm_bias"}};
  keys.headBias = {false, {"classifier_bias"}};
  keys.vocabularyBias = {true, {"decoder_bias"}};
  keys.theta = {"global_rope_theta"};
  keys.localTheta = {"local_rope_theta"};
  keys.window = {"local_attention"};
  keys.windowPeriod = {"global_attn_every_n_layers"};
  keys.headActivation = {"classifier_activation"};
  keys.pooling = {"classifier_pooling"};
  return keys;
}

static FamilyModules modernBertModules() {
  FamilyModules m;
  m.word = "embeddings.tok_embeddings";
  m.embeddingNorm = "embeddings.norm";
  m.rope = "rotary_emb";
  m.layer = "layers.{i}";
  m.attention = "attn";
  m.qkv = "attn.Wqkv";
  m.output = "attn.Wo";
  m.attentionNorm = "attn_norm";
  m.up = "mlp.Wi";
  m.activation = "mlp.act";
  m.down = "mlp.Wo";
  m.mlpNorm = "mlp_norm";
  m.finalNorm = "final_norm";
  return m;
}

/// Each third layer attends to all tokens, the others to a window; both kinds
/// have their own rope base.
static ModelFamily modernBert() {
  FamilyDefaults defaults = {50368, 768, 22, 12};
  defaults.intermediate = 1152;
  defaults.positions = 8192;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu";
  defaults.tied = true;
  defaults.window = 128;
  defaults.windowPeriod = 3;
  defaults.theta = 160000;
  ModelFamily family = {"modernbert",     "ModernBert", "model.",
                        modernBertKeys(), defaults,     modernBertModules()};
  family.kind = ModelKind::Encoder;
  family.normKind = NormKind::Layer;
  family.qkv = QkvLayout::Stacked;
  family.mlp = MlpKind::StackedGlu;
  family.ropeByLayerType = true;
  family.firstLayerNorm = false;
  family.windows = WindowLayers::NotEveryNth;
  family.windowSize = WindowSize::Total;
  HeadStep dense = linear("head.dense", Width::Hidden, head::Bias::AsConfig);
  HeadStep labels = linear("classifier", Width::Labels);
  family.heads = {
      head::bare(),
      head::maskedLm({dense, head::activation(), head::norm("head.norm"),
                      head::vocabulary("decoder", {"decoder.bias"})}),
      head::sequence({{Kind::Pool},
                      dense,
                      head::activation(),
                      head::norm("head.norm"),
                      labels}),
      head::token({dense, head::activation(), head::norm("head.norm"), labels}),
      head::questionAnswering(
          "classifier", {dense, head::activation(), head::norm("head.norm")}),
  };
  family.ignoredKeys = {"attention_dropout",
                        "embedding_dropout",
                        "mlp_dropout",
                        "classifier_dropout",
                        "deterministic_flash_attn",
                        "sparse_prediction",
                        "sparse_pred_ignore_index",
                        "reference_compile",
                        "repad_logits_with_grad",
                        "initializer_cutoff_factor"};
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::bertFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(albert());
  families.push_back(bert());
  families.push_back(distilbert());
  families.push_back(electra());
  families.push_back(modernBert());
  return families;
}
