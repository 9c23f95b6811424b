// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table as a whole, and the config keys that mean nothing to any family.
#include "compiler/import/huggingface/ModelFamily.h"
#include <algorithm>

using namespace transom;

const std::vector<ModelFamily> &transom::modelFamilies() {
  static const std::vector<ModelFamily> families = [] {
    std::vector<ModelFamily> all;
    for (auto part : {bertFamilies, gptFamilies, llamaFamilies})
      for (ModelFamily &family : part())
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
