// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows. Names are those that checkpoints hold; defaults are those of the
// config classes of transformers 4 and 5.
#include "compiler/import/huggingface/Families.h"

using namespace transom;
using Kind = HeadStep::Kind;
using Width = HeadStep::Width;

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

static HeadStep linear(const char *module, Width width) {
  return {Kind::Linear, module, width};
}
static HeadStep norm(const char *module) { return {Kind::Norm, module}; }
static HeadStep activation(const char *name = nullptr) {
  return {Kind::Activation, "", Width::Hidden, name};
}
static HeadStep decoder(const char *module, std::vector<const char *> biases) {
  return {Kind::Decoder, module, Width::Hidden, nullptr, std::move(biases)};
}

static std::vector<HeadStep> bertPredictions() {
  return {linear("cls.predictions.transform.dense", Width::Hidden),
          activation(), norm("cls.predictions.transform.LayerNorm"),
          decoder("cls.predictions.decoder",
                  {"cls.predictions.decoder.bias", "cls.predictions.bias"})};
}

static FamilyHead tokenHead() {
  return {"ForTokenClassification",
          "token_classification",
          true,
          {{"logits", {linear("classifier", Width::Labels)}}}};
}

static FamilyHead bareModel() {
  return {"Model", "none", false, {{"last_hidden_state", {}}}};
}

static std::vector<FamilyHead> bertHeads() {
  std::vector<HeadStep> nextSentence = {
      {Kind::Pooler}, linear("cls.seq_relationship", Width::Two)};
  return {
      bareModel(),
      {"ForMaskedLM", "masked_lm", false, {{"logits", bertPredictions()}}},
      {"ForSequenceClassification",
       "sequence_classification",
       true,
       {{"logits", {{Kind::Pooler}, linear("classifier", Width::Labels)}}}},
      tokenHead(),
      {"ForNextSentencePrediction",
       "next_sentence",
       false,
       {{"logits", nextSentence}}},
      {"ForPreTraining",
       "pretraining",
       false,
       {{"prediction_logits", bertPredictions()},
        {"seq_relationship_logits", nextSentence}}},
  };
}

static std::vector<FamilyHead> robertaHeads() {
  return {
      bareModel(),
      {"ForMaskedLM",
       "masked_lm",
       false,
       {{"logits",
         {linear("lm_head.dense", Width::Hidden), activation("gelu"),
          norm("lm_head.layer_norm"),
          decoder("lm_head.decoder",
                  {"lm_head.decoder.bias", "lm_head.bias"})}}}},
      {"ForSequenceClassification",
       "sequence_classification",
       true,
       {{"logits",
         {{Kind::First},
          linear("classifier.dense", Width::Hidden),
          activation("tanh"),
          linear("classifier.out_proj", Width::Labels)}}}},
      tokenHead(),
  };
}

static std::vector<FamilyHead> distilbertHeads() {
  return {
      bareModel(),
      {"ForMaskedLM",
       "masked_lm",
       false,
       {{"logits",
         {linear("vocab_transform", Width::Hidden), activation(),
          norm("vocab_layer_norm"),
          decoder("vocab_projector", {"vocab_projector.bias"})}}}},
      {"ForSequenceClassification",
       "sequence_classification",
       true,
       {{"logits",
         {{Kind::First},
          linear("pre_classifier", Width::Hidden),
          activation("relu"),
          linear("classifier", Width::Labels)}}}},
      tokenHead(),
  };
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static FamilyKeys bertKeys() {
  return {{"hidden_size"},         {"num_hidden_layers"},
          {"num_attention_heads"}, {"intermediate_size"},
          {"hidden_act"},          {"max_position_embeddings"},
          {"type_vocab_size"},     {"layer_norm_eps"}};
}

static FamilyModules bertModules() {
  FamilyModules m = {};
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
  m.attentionOut = "attention.output.dense";
  m.attentionAdd = "attention.output";
  m.attentionNorm = "attention.output.LayerNorm";
  m.up = "intermediate.dense";
  m.activation = "intermediate.intermediate_act_fn";
  m.down = "output.dense";
  m.outputAdd = "output";
  m.outputNorm = "output.LayerNorm";
  m.pooler = "pooler";
  return m;
}

static std::vector<const char *> bertIgnored() {
  return {"hidden_dropout_prob",  "attention_probs_dropout_prob",
          "classifier_dropout",   "directionality",
          "pooler_fc_size",       "pooler_num_attention_heads",
          "pooler_num_fc_layers", "pooler_size_per_head",
          "pooler_type",          "output_past"};
}

static Family bert() {
  return {"bert",
          "Bert",
          "bert.",
          bertKeys(),
          {30522, 768, 12, 12, 3072, 512, 2, 0, 1e-12, "gelu"},
          bertModules(),
          PositionRule::Column,
          bertHeads(),
          bertIgnored()};
}

static Family roberta() {
  return {"roberta",
          "Roberta",
          "roberta.",
          bertKeys(),
          {50265, 768, 12, 12, 3072, 512, 2, 1, 1e-12, "gelu"},
          bertModules(),
          PositionRule::NonpadRank,
          robertaHeads(),
          bertIgnored()};
}

static Family xlmRoberta() {
  Family row = roberta();
  row.modelType = "xlm-roberta";
  row.stem = "XLMRoberta";
  row.defaults.vocab = 30522;
  return row;
}

static Family distilbert() {
  FamilyKeys keys = {{"dim", "hidden_size"},
                     {"n_layers", "num_hidden_layers"},
                     {"n_heads", "num_attention_heads"},
                     {"hidden_dim"},
                     {"activation"},
                     {"max_position_embeddings"},
                     {},
                     {}};
  FamilyModules m = bertModules();
  m.type = m.pooler = "";
  m.layer = "transformer.layer.{i}";
  m.attention = "attention";
  m.query = "attention.q_lin";
  m.key = "attention.k_lin";
  m.value = "attention.v_lin";
  m.attentionOut = "attention.out_lin";
  m.attentionAdd = "";
  m.attentionNorm = "sa_layer_norm";
  m.up = "ffn.lin1";
  m.activation = "ffn.activation";
  m.down = "ffn.lin2";
  m.outputAdd = "";
  m.outputNorm = "output_layer_norm";
  return {"distilbert",
          "DistilBert",
          "distilbert.",
          keys,
          {30522, 768, 6, 12, 3072, 512, 0, 0, 1e-12, "gelu"},
          m,
          PositionRule::Column,
          distilbertHeads(),
          {"dropout", "attention_dropout", "qa_dropout", "seq_classif_dropout",
           "sinusoidal_pos_embds", "tie_weights_"}};
}

const std::vector<Family> &transom::allFamilies() {
  static const std::vector<Family> rows = {bert(), distilbert(), roberta(),
                                           xlmRoberta()};
  return rows;
}

const Family *transom::findFamily(const std::string &modelType) {
  for (const Family &row : allFamilies())
    if (modelType == row.modelType)
      return &row;
  return nullptr;
}

const std::vector<const char *> &transom::commonIgnoredKeys() {
  static const std::vector<const char *> keys = {
      // what the checkpoint is called and was made with
      "finetuning_task", "task_specific_params", "tokenizer_class", "prefix",
      "transformers_version", "language", "name",
      // training
      "initializer_range", "gradient_checkpointing", "torch_dtype", "dtype",
      "use_bfloat16", "tf_legacy_loss",
      // how results are handed over, how memory is used
      "return_dict", "output_hidden_states", "output_attentions", "torchscript",
      "chunk_size_feed_forward", "use_cache", "attn_implementation",
      // ids that a tokenizer or a generation loop uses
      "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
      "cls_token_id", "mask_token_id", "unk_token_id", "decoder_start_token_id",
      "forced_bos_token_id", "forced_eos_token_id",
      // labels and losses of heads that the model may not have
      "id2label", "label2id", "num_labels", "problem_type",
      // generation
      "max_length", "min_length", "do_sample", "early_stopping", "num_beams",
      "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p",
      "typical_p", "repetition_penalty", "length_penalty",
      "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
      "num_return_sequences", "output_scores", "return_dict_in_generate",
      "remove_invalid_values", "exponential_decay_length_penalty",
      "suppress_tokens", "begin_suppress_tokens", "cross_attention_hidden_size",
      "tie_encoder_decoder"};
  return keys;
}
