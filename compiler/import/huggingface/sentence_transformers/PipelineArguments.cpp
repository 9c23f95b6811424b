// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments that a Transformer module uses to load its model, config and
// tokenizer. Config and tokenizer arguments override keys in config.json and
// tokenizer_config.json; model arguments select types, devices and attention
// implementations, which do not exist here.
#include "compiler/import/huggingface/sentence_transformers/PipelineReader.h"
#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonParser.h"
#include <algorithm>

using namespace transom;

/// Arguments in all three groups that specify file sources. The loader replaces
/// or drops them.
static const PipelineWords &getSourceArguments() {
  static const PipelineWords words = {
      "trust_remote_code", "cache_dir",      "token",
      "use_auth_token",    "revision",       "subfolder",
      "local_files_only",  "force_download", "resume_download",
      "proxies",           "code_revision",  "_from_auto",
      "_from_pipeline",    "_commit_hash",   "name_or_path"};
  return words;
}

/// Model arguments without effect on f32 results.
static const PipelineWords &getModelArguments() {
  static const PipelineWords words = {
      "dtype",           "torch_dtype",       "attn_implementation",
      "device_map",      "low_cpu_mem_usage", "use_flash_attention_2",
      "max_memory",      "offload_folder",    "offload_state_dict",
      "offload_buffers", "use_safetensors",   "weights_only",
      "tp_plan",         "tp_size",           "device_mesh",
      "use_kernels",     "add_pooling_layer", "ignore_mismatched_sizes"};
  return words;
}

/// Config arguments without effect.
static const PipelineWords &getConfigArguments() {
  static const PipelineWords words = {"dtype",
                                      "torch_dtype",
                                      "attn_implementation",
                                      "return_dict",
                                      "return_unused_kwargs",
                                      "output_attentions",
                                      "output_hidden_states",
                                      "use_cache"};
  return words;
}

/// tokenizer_config.json keys that are read, and keys without effect.
static const PipelineWords &getTokenizerArguments() {
  static const PipelineWords words = {
      "model_max_length", "max_len", "do_lower_case", "strip_accents",
      "tokenize_chinese_chars", "add_prefix_space", "trim_offsets",
      "truncation_side", "add_bos_token", "add_eos_token", "keep_accents",
      "split_by_punct", "split_special_tokens", "legacy", "legacy_behaviour",
      "src_lang", "model_input_names", "bos_token", "eos_token", "unk_token",
      "sep_token", "pad_token", "cls_token", "mask_token",
      // no effect on ids
      "use_fast", "padding_side", "clean_up_tokenization_spaces", "padding",
      "truncation", "max_length", "chat_template"};
  return words;
}

std::optional<JsonValue>
transom::findTransformerArguments(JsonValue config, const char *name,
                                  const char *oldName) {
  // The loader renames the old key, which overrides the new one.
  auto value = config.find(oldName);
  if (!value)
    value = config.find(name);
  return value && !value->isNull() ? value : std::nullopt;
}

/// Refuses arguments that are not in any list.
Result<void> PipelineReader::checkArguments(JsonValue arguments,
                                            const PipelineWords &known) {
  TRANSOM_TRY(arguments.expectObject());
  const PipelineWords &sources = getSourceArguments();
  for (JsonValue::Member member : arguments.members()) {
    auto isIn = [&](const PipelineWords &words) {
      return std::find(words.begin(), words.end(), member.key) != words.end();
    };
    if (!member.value.isNull() && !isIn(known) && !isIn(sources))
      result.refuse(arguments.where() + ": argument '" +
                    utf8::printable(member.key) +
                    "' is not supported; supported: " + joinNames(known));
  }
  return {};
}

/// `config_kwargs`: numbers, booleans and strings that override config.json.
Result<void> PipelineReader::checkConfigArguments(JsonValue arguments) {
  TRANSOM_TRY(arguments.expectObject());
  const PipelineWords &ignored = getConfigArguments();
  for (JsonValue::Member member : arguments.members())
    if ((member.value.isObject() || member.value.isArray()) &&
        std::find(ignored.begin(), ignored.end(), member.key) == ignored.end())
      result.refuse(member.value.where() + ": argument '" +
                    utf8::printable(member.key) + "' is " +
                    member.value.kindText() +
                    "; supported: numbers, booleans and strings");
  return {};
}

Result<void> PipelineReader::arguments(const JsonDocument &document) {
  const JsonValue config = document.root();
  if (auto given =
          findTransformerArguments(config, "model_kwargs", "model_args"))
    TRANSOM_TRY(checkArguments(*given, getModelArguments()));
  if (auto given =
          findTransformerArguments(config, "config_kwargs", "config_args"))
    TRANSOM_TRY(checkConfigArguments(*given));
  auto given =
      findTransformerArguments(config, "processor_kwargs", "tokenizer_args");
  if (!given)
    return {};
  TRANSOM_TRY(checkArguments(*given, getTokenizerArguments()));
  result.tokenizerArguments.emplace(document, *given);
  return {};
}

Result<std::optional<JsonObject>>
transom::readConfigArguments(const std::string &folder) {
  if (getFirstModule(folder) != "Transformer" &&
      getFirstModule(folder) != "MLMTransformer")
    return std::optional<JsonObject>();
  const std::string path = joinPath(folder, getTransformerFile(folder));
  if (!fileExists(path))
    return std::optional<JsonObject>();
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJsonFile(path, JsonNumbers::Python));
  auto given =
      findTransformerArguments(document.root(), "config_kwargs", "config_args");
  if (!given || !given->isObject())
    return std::optional<JsonObject>();
  return std::optional(JsonObject(document, *given));
}
