// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The complete table, and the config keys with the same meaning in all
// families.
#include "compiler/import/huggingface/ModelFamily.h"
#include <algorithm>

using namespace transom;

const std::vector<ModelFamily> &transom::modelFamilies() {
  static const std::vector<ModelFamily> families = [] {
    std::vector<ModelFamily> all;
    for (auto list : {bertFamilies, debertaFamilies, gemmaFamilies, gptFamilies,
                      layerNormFamilies, llamaFamilies, robertaFamilies,
                      ropeEncoderFamilies, seq2SeqFamilies})
      for (ModelFamily &family : list())
        all.push_back(std::move(family));
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
      return std::string(a.modelType) < b.modelType;
    });
    return all;
  }();
  return families;
}

const ModelFamily *transom::findModelFamily(const std::string &modelType) {
  for (const ModelFamily &family : modelFamilies())
    if (modelType == family.modelType)
      return &family;
  return nullptr;
}

static bool hasValue(Config &config, const ConfigKey &key,
                     const std::string &value) {
  if (value == "true" || value == "false")
    return config.flag(key, value == "false") == (value == "true");
  if (value == "none" || value == "some")
    return (config.find(key) && config.number(key, 0) != 0) ==
           (value == "some");
  return config.text(key, "") == value;
}

const ModelFamily &transom::chooseVariant(
    Config &config, const ModelFamily &family,
    const std::function<bool(const std::string &)> &hasTensor) {
  auto isAskedFor = [&](const FamilyVariant &variant) {
    if (std::string(variant.value) != "stored")
      return hasValue(config, variant.key, variant.value);
    const std::string tensor = variant.key.front();
    return hasTensor(tensor) || hasTensor(family.prefix + tensor);
  };
  for (const FamilyVariant &variant : family.variants)
    if (isAskedFor(variant))
      return chooseVariant(config, variant.family.front(), hasTensor);
  return family;
}

ModelFamily transom::withChoices(ModelFamily family,
                                 const std::vector<FamilyChoice> &choices) {
  std::vector<FamilyVariant> variants;
  for (auto choice = choices.begin(); choice != choices.end(); ++choice) {
    ModelFamily changed = family;
    choice->change(changed);
    variants.push_back(
        {choice->key,
         choice->value,
         {withChoices(std::move(changed), {choice + 1, choices.end()})}});
  }
  family.variants = std::move(variants);
  return family;
}

const std::vector<SupportedValue> &transom::getSupportedValues(ModelKind kind) {
  static const std::vector<SupportedValue> encoder = {{"is_decoder", "false"}};
  static const std::vector<SupportedValue> decoder = {
      {"use_bidirectional_attention", "false"}, {"use_mrope", "false"}};
  static const std::vector<SupportedValue> both = {};
  return kind == ModelKind::Encoder   ? encoder
         : kind == ModelKind::Decoder ? decoder
                                      : both;
}

const std::vector<const char *> &transom::commonIgnoredKeys() {
  static const std::vector<const char *> keys = {
      // checkpoint name and origin
      "is_decoder", "finetuning_task", "task_specific_params",
      "tokenizer_class", "prefix", "transformers_version", "language", "name",
      // training
      "initializer_range", "gradient_checkpointing", "torch_dtype", "dtype",
      "use_bfloat16", "tf_legacy_loss",
      // output format, memory use
      "return_dict", "output_hidden_states", "output_attentions", "torchscript",
      "chunk_size_feed_forward", "use_cache", "attn_implementation",
      // ids used by a tokenizer or a generation loop
      "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
      "cls_token_id", "mask_token_id", "unk_token_id", "decoder_start_token_id",
      "forced_bos_token_id", "forced_eos_token_id",
      // labels and losses for heads that the model may not have
      "id2label", "label2id", "num_labels", "problem_type",
      "sentence_transformers", "sbert_ce_default_activation_function",
      // for encoder-decoders
      "cross_attention_hidden_size", "tie_encoder_decoder"};
  return keys;
}
