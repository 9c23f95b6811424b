// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoder families: BART, T5 and related models. Names are the
// checkpoint names; defaults are the same as in the config classes of
// transformers 4 and 5.
#include "compiler/import/huggingface/HeadSteps.h"

using namespace transom;
using Kind = HeadStep::Kind;

/// Head for a generating decoder. Its class ends in `suffix`.
static FamilyHead generation(const char *suffix) {
  HeadStep words = head::vocabulary("lm_head", {"final_logits_bias"});
  words.bias = head::Bias::StoredRow;
  return head::logits(suffix, "seq2seq_lm", false, {{Kind::Scale}, words});
}

//===----------------------------------------------------------------------===//
// BART
//===----------------------------------------------------------------------===//

static FamilyKeys bartKeys(bool decoder) {
  FamilyKeys keys;
  keys.hidden = {"d_model", "hidden_size"};
  keys.positions = {"max_position_embeddings"};
  keys.activation = {"activation_function"};
  keys.scaledEmbedding = {false, {"scale_embedding"}};
  keys.qkvBias = keys.outputBias = keys.mlpBias = {true};
  if (decoder) {
    keys.layers = {"decoder_layers"};
    keys.heads = {"decoder_attention_heads"};
    keys.intermediate = {"decoder_ffn_dim"};
  } else {
    keys.layers = {"encoder_layers", "num_hidden_layers"};
    keys.heads = {"encoder_attention_heads", "num_attention_heads"};
    keys.intermediate = {"encoder_ffn_dim"};
  }
  return keys;
}

static FamilyDefaults bartDefaults() {
  FamilyDefaults defaults = {50265, 1024, 12, 16};
  defaults.intermediate = 4096;
  defaults.positions = 1024;
  defaults.epsilon = 1e-5;
  defaults.activation = "gelu";
  defaults.tied = true;
  return defaults;
}

/// Layer modules.
static FamilyModules bartLayer() {
  FamilyModules m;
  m.attention = "self_attn";
  m.query = "self_attn.q_proj";
  m.key = "self_attn.k_proj";
  m.value = "self_attn.v_proj";
  m.output = "self_attn.out_proj";
  m.attentionNorm = "self_attn_layer_norm";
  m.up = "fc1";
  m.activation = "activation_fn";
  m.down = "fc2";
  m.mlpNorm = "final_layer_norm";
  return m;
}

static FamilyModules bartEncoder() {
  FamilyModules m = bartLayer();
  m.word = "encoder.embed_tokens";
  m.sharedWord = {"shared", "decoder.embed_tokens"};
  m.position = "encoder.embed_positions";
  m.embeddingNorm = "encoder.layernorm_embedding";
  m.layer = "encoder.layers.{i}";
  return m;
}

static FamilyModules bartDecoder() {
  FamilyModules m = bartLayer();
  m.word = "decoder.embed_tokens";
  m.sharedWord = {"shared", "encoder.embed_tokens"};
  m.position = "decoder.embed_positions";
  m.embeddingNorm = "decoder.layernorm_embedding";
  m.layer = "decoder.layers.{i}";
  m.crossAttention = "encoder_attn";
  m.crossQuery = "encoder_attn.q_proj";
  m.crossKey = "encoder_attn.k_proj";
  m.crossValue = "encoder_attn.v_proj";
  m.crossOutput = "encoder_attn.out_proj";
  m.crossNorm = "encoder_attn_layer_norm";
  return m;
}

static ModelFamily bartHalf(bool decoder) {
  ModelFamily half = {"bart",         "Bart",
                      "model.",       bartKeys(decoder),
                      bartDefaults(), decoder ? bartDecoder() : bartEncoder()};
  half.kind = decoder ? ModelKind::Decoder : ModelKind::Encoder;
  half.normKind = NormKind::Layer;
  half.normPlacement = NormPlacement::Post;
  half.positions = PositionEncoding::Learned;
  half.positionOffset = 2;
  half.mlp = MlpKind::Plain;
  return half;
}

/// Keys that BART's related classes write but do not read, and training keys.
static std::vector<const char *> bartIgnoredKeys() {
  return {"num_hidden_layers",
          "num_attention_heads",
          "hidden_size",
          "dropout",
          "attention_dropout",
          "activation_dropout",
          "classif_dropout",
          "classifier_dropout",
          "encoder_layerdrop",
          "decoder_layerdrop",
          "init_std",
          "add_bias_logits",
          "add_final_layer_norm",
          "normalize_before",
          "normalize_embedding",
          "static_position_embeddings",
          "extra_pos_embeddings",
          "force_bos_token_to_be_generated",
          "gradient_checkpointing",
          "output_past"};
}

/// The head reads the decoder state at the text's last end token; source and
/// target are the same text. `labels` is the default label count.
static FamilyHead bartClassification(int64_t labels) {
  FamilyHead head = head::sequence(
      {head::linear("classification_head.dense", head::Width::Hidden),
       head::activation("tanh"),
       head::linear("classification_head.out_proj", head::Width::Labels)});
  head.labelCount = labels;
  return head;
}

static ModelFamily bart() {
  ModelFamily family = {"bart", "Bart", "model.", {}, bartDefaults(), {}};
  family.kind = ModelKind::EncoderDecoder;
  family.halves = {bartHalf(false), bartHalf(true)};
  family.heads = {generation("ForConditionalGeneration"), head::bare(),
                  bartClassification(3)};
  family.ignoredKeys = bartIgnoredKeys();
  family.embedsByEncoder = false;
  family.generationDefaults = {{"bos_token_id", 0},
                               {"eos_token_id", 2},
                               {"pad_token_id", 1},
                               {"decoder_start_token_id", 2}};
  return family;
}

//===----------------------------------------------------------------------===//
// Marian
//===----------------------------------------------------------------------===//

/// BART with sines and cosines and without an embedding norm. Source and target
/// may have separate vocabularies.
static ModelFamily marian() {
  ModelFamily family = bart();
  family.embedsByEncoder = true;
  family.modelType = "marian";
  family.className = "Marian";
  for (ModelFamily &half : family.halves) {
    half.positions = PositionEncoding::Sinusoid;
    half.positionOffset = 0;
    half.modules.embeddingNorm = "";
    half.keys.sharedWord = {true, {"share_encoder_decoder_embeddings"}};
    half.defaults.vocab = 58101;
  }
  family.halves[1].keys.ownVocab = {"decoder_vocab_size"};
  family.generationDefaults = {{"eos_token_id", 0},
                               {"pad_token_id", 58100},
                               {"decoder_start_token_id", 58100}};
  family.heads = {generation("MTModel"), head::bare()};
  return family;
}

//===----------------------------------------------------------------------===//
// Relatives with norms before attention and MLP
//===----------------------------------------------------------------------===//

static ModelFamily mbart() {
  ModelFamily family = bart();
  family.modelType = "mbart";
  family.className = "MBart";
  family.heads.back() = bartClassification(2);
  for (ModelFamily &half : family.halves)
    half.normPlacement = NormPlacement::Pre;
  family.halves[0].modules.finalNorm = "encoder.layer_norm";
  family.halves[1].modules.finalNorm = "decoder.layer_norm";
  family.halves[1].startsWithLastLabel = true;
  family.generationDefaults = {
      {"bos_token_id", 0}, {"eos_token_id", 2}, {"pad_token_id", 1}};
  return family;
}

static ModelFamily pegasus() {
  ModelFamily family = mbart();
  family.embedsByEncoder = true;
  family.modelType = "pegasus";
  family.className = "Pegasus";
  family.heads = {generation("ForConditionalGeneration"), head::bare()};
  family.generationDefaults = {
      {"eos_token_id", 1}, {"pad_token_id", 0}, {"decoder_start_token_id", 0}};
  family.halves[1].startsWithLastLabel = false;
  for (ModelFamily &half : family.halves) {
    half.positions = PositionEncoding::Sinusoid;
    half.positionOffset = 0;
    half.modules.embeddingNorm = "";
  }
  return family;
}

/// Also NLLB. The encoder counts positions by rank, the decoder by column.
static ModelFamily m2m100() {
  ModelFamily family = pegasus();
  family.modelType = "m2m_100";
  family.className = "M2M100";
  family.generationDefaults = {{"bos_token_id", 0},
                               {"eos_token_id", 2},
                               {"pad_token_id", 1},
                               {"decoder_start_token_id", 2}};
  for (ModelFamily &half : family.halves) {
    half.sinusoid = SinusoidOrder::Fairseq;
    half.sinusoidFromFile = false;
    half.keys.pad = {"pad_token_id"};
    half.keys.scaledEmbedding = {true, {"scale_embedding"}};
    half.defaults.vocab = 128112;
    half.defaults.pad = 1;
    half.defaults.activation = "relu";
  }
  family.halves[0].positionIndex = PositionIndex::NonpadRank;
  return family;
}

static ModelFamily blenderbot() {
  ModelFamily family = mbart();
  family.embedsByEncoder = true;
  family.modelType = "blenderbot";
  family.className = "Blenderbot";
  family.heads = {generation("ForConditionalGeneration"), head::bare()};
  family.generationDefaults = {{"bos_token_id", 1},
                               {"eos_token_id", 2},
                               {"pad_token_id", 0},
                               {"decoder_start_token_id", 1}};
  family.halves[1].startsWithLastLabel = false;
  for (ModelFamily &half : family.halves) {
    half.positionOffset = 0;
    half.modules.embeddingNorm = "";
    half.defaults = {8008, 2560, 2, 32};
    half.defaults.intermediate = 10240;
    half.defaults.positions = 128;
    half.defaults.epsilon = 1e-5;
    half.defaults.activation = "gelu";
    half.defaults.tied = true;
  }
  family.halves[1].defaults.layers = 24;
  for (const char *key :
       {"layernorm_variant", "do_blenderbot_90_layernorm", "embeddings_scale"})
    family.ignoredKeys.push_back(key);
  return family;
}

//===----------------------------------------------------------------------===//
// T5
//===----------------------------------------------------------------------===//

static FamilyKeys t5Keys(bool decoder) {
  FamilyKeys keys;
  keys.hidden = {"d_model", "hidden_size"};
  keys.layers = {"num_layers", "num_hidden_layers"};
  if (decoder)
    keys.layers.insert(keys.layers.begin(), "num_decoder_layers");
  keys.heads = {"num_heads", "num_attention_heads"};
  keys.headDim = {"d_kv", "head_dim"};
  keys.intermediate = {"d_ff"};
  keys.activation = {"dense_act_fn"};
  keys.feedForward = {"feed_forward_proj"};
  keys.gated = {"is_gated_act"};
  keys.epsilon = {"layer_norm_epsilon"};
  keys.tied = {}; // always, independent of the key
  keys.scaledHead = {"scale_decoder_outputs"};
  keys.biasBuckets = {"relative_attention_num_buckets"};
  keys.biasDistance = {"relative_attention_max_distance"};
  return keys;
}

/// Scores are not scaled.
static FamilyDefaults t5Defaults() {
  FamilyDefaults defaults = {32128, 512, 6, 8};
  defaults.headDim = 64;
  defaults.intermediate = 2048;
  defaults.queryScalar = 1;
  defaults.tied = true;
  return defaults;
}

static FamilyModules t5Encoder() {
  FamilyModules m;
  m.word = "encoder.embed_tokens";
  m.sharedWord = {"shared", "decoder.embed_tokens"};
  m.relativeBias = "encoder.block.0.layer.0.SelfAttention."
                   "relative_attention_bias";
  m.layer = "encoder.block.{i}";
  m.attention = "layer.0.SelfAttention";
  m.query = "layer.0.SelfAttention.q";
  m.key = "layer.0.SelfAttention.k";
  m.value = "layer.0.SelfAttention.v";
  m.output = "layer.0.SelfAttention.o";
  m.attentionAdd = "layer.0";
  m.attentionNorm = "layer.0.layer_norm";
  m.gate = "layer.1.DenseReluDense.wi_0";
  m.up = "layer.1.DenseReluDense.wi_1";
  m.plainUp = "layer.1.DenseReluDense.wi";
  m.activation = "layer.1.DenseReluDense.act";
  m.down = "layer.1.DenseReluDense.wo";
  m.mlpAdd = "layer.1";
  m.mlpNorm = "layer.1.layer_norm";
  m.finalNorm = "encoder.final_layer_norm";
  return m;
}

static FamilyModules t5Decoder() {
  FamilyModules m = t5Encoder();
  m.word = "decoder.embed_tokens";
  m.sharedWord = {"shared", "encoder.embed_tokens"};
  m.relativeBias = "decoder.block.0.layer.0.SelfAttention."
                   "relative_attention_bias";
  m.layer = "decoder.block.{i}";
  m.crossAttention = "layer.1.EncDecAttention";
  m.crossQuery = "layer.1.EncDecAttention.q";
  m.crossKey = "layer.1.EncDecAttention.k";
  m.crossValue = "layer.1.EncDecAttention.v";
  m.crossOutput = "layer.1.EncDecAttention.o";
  m.crossAdd = "layer.1";
  m.crossNorm = "layer.1.layer_norm";
  m.gate = "layer.2.DenseReluDense.wi_0";
  m.up = "layer.2.DenseReluDense.wi_1";
  m.plainUp = "layer.2.DenseReluDense.wi";
  m.activation = "layer.2.DenseReluDense.act";
  m.down = "layer.2.DenseReluDense.wo";
  m.mlpAdd = "layer.2";
  m.mlpNorm = "layer.2.layer_norm";
  m.finalNorm = "decoder.final_layer_norm";
  return m;
}

static ModelFamily t5Half(bool decoder) {
  ModelFamily half = {"t5",         "T5",
                      "",           t5Keys(decoder),
                      t5Defaults(), decoder ? t5Decoder() : t5Encoder()};
  half.kind = decoder ? ModelKind::Decoder : ModelKind::Encoder;
  half.positions = PositionEncoding::None;
  return half;
}

static FamilyHead encoderAlone() {
  FamilyHead head = head::bare();
  head.suffix = "EncoderModel";
  return head;
}

static ModelFamily t5() {
  ModelFamily family = {"t5", "T5", "", {}, t5Defaults(), {}};
  family.kind = ModelKind::EncoderDecoder;
  family.halves = {t5Half(false), t5Half(true)};
  family.heads = {generation("ForConditionalGeneration"), head::bare(),
                  encoderAlone()};
  family.ignoredKeys = {"num_hidden_layers",  "num_attention_heads",
                        "dropout_rate",       "classifier_dropout",
                        "initializer_factor", "n_positions",
                        "output_past",        "tie_word_embeddings"};
  family.generationDefaults = {{"eos_token_id", 1}, {"pad_token_id", 0}};
  return family;
}

static ModelFamily mt5() {
  ModelFamily family = t5();
  family.modelType = "mt5";
  family.className = "MT5";
  for (ModelFamily &half : family.halves) {
    half.defaults.vocab = 250112;
    half.defaults.layers = 8;
    half.defaults.heads = 6;
    half.defaults.intermediate = 1024;
    half.defaults.feedForward = "gated-gelu";
    half.keys.scaledHead = {};
  }
  family.ignoredKeys.push_back("scale_decoder_outputs");
  family.generationDefaults.push_back({"decoder_start_token_id", 0});
  return family;
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

std::vector<ModelFamily> transom::seq2SeqFamilies() {
  std::vector<ModelFamily> families;
  families.push_back(bart());
  families.push_back(blenderbot());
  families.push_back(m2m100());
  families.push_back(marian());
  families.push_back(mbart());
  families.push_back(mt5());
  families.push_back(pegasus());
  families.push_back(t5());
  // A half has its family's type and class.
  for (ModelFamily &family : families)
    for (ModelFamily &half : family.halves) {
      half.modelType = family.modelType;
      half.className = family.className;
    }
  return families;
}
