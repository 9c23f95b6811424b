// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table says of each key what values it takes and what becomes of it. An
// absent key and a null are the same.
#include "compiler/import/huggingface/GenerationConfig.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>

using namespace transom;

namespace {

/// What a key's values are.
enum class KeyKind {
  Integer, ///< in [low, high]
  Number,  ///< in [low, high]
  Flag,
  Id,              ///< any integer
  Ids,             ///< an integer or a list of them
  Texts,           ///< a text or a list of them
  Unbuilt,         ///< not built but for its neutral values
  UnbuiltSampling, ///< likewise, of which only sampling takes notice
  Ignored          ///< has no effect on what is generated
};

struct Key {
  const char *name;
  KeyKind kind;
  double low = 0, high = std::numeric_limits<int32_t>::max();
  /// Of what is not built: the number that means "off", beside null, false, 0
  /// and what is empty.
  double neutral = 0;
};

constexpr double unbounded = 1e30;

constexpr Key keys[] = {
    {"max_new_tokens", KeyKind::Integer},
    {"min_new_tokens", KeyKind::Integer},
    {"max_length", KeyKind::Integer},
    {"min_length", KeyKind::Integer},
    {"num_return_sequences", KeyKind::Integer, 1},
    {"num_beams", KeyKind::Integer, 1},
    {"do_sample", KeyKind::Flag},
    {"temperature", KeyKind::Number, 0, unbounded},
    {"top_k", KeyKind::Integer, -1},
    {"top_p", KeyKind::Number, 0, 1},
    {"min_p", KeyKind::Number, 0, 1},
    {"repetition_penalty", KeyKind::Number, 1e-6, 1e6},
    {"presence_penalty", KeyKind::Number, -1e6, 1e6},
    {"frequency_penalty", KeyKind::Number, -1e6, 1e6},
    {"no_repeat_ngram_size", KeyKind::Integer},
    {"suppress_tokens", KeyKind::Ids},
    {"begin_suppress_tokens", KeyKind::Ids},
    {"eos_token_id", KeyKind::Ids},
    {"bos_token_id", KeyKind::Id},
    {"pad_token_id", KeyKind::Id},
    {"stop_strings", KeyKind::Texts},

    {"num_beam_groups", KeyKind::Unbuilt, 0, 0, 1},
    {"diversity_penalty", KeyKind::Unbuilt},
    {"penalty_alpha", KeyKind::Unbuilt},
    {"dola_layers", KeyKind::Unbuilt},
    {"encoder_repetition_penalty", KeyKind::Unbuilt, 0, 0, 1},
    {"encoder_no_repeat_ngram_size", KeyKind::Unbuilt},
    {"bad_words_ids", KeyKind::Unbuilt},
    {"force_words_ids", KeyKind::Unbuilt},
    {"constraints", KeyKind::Unbuilt},
    {"sequence_bias", KeyKind::Unbuilt},
    {"guidance_scale", KeyKind::Unbuilt, 0, 0, 1},
    {"exponential_decay_length_penalty", KeyKind::Unbuilt},
    {"watermarking_config", KeyKind::Unbuilt},
    {"token_healing", KeyKind::Unbuilt},
    {"forced_bos_token_id", KeyKind::Unbuilt, 0, 0, -1},
    {"forced_eos_token_id", KeyKind::Unbuilt, 0, 0, -1},
    {"max_time", KeyKind::Unbuilt},
    {"use_mtp", KeyKind::Unbuilt},
    {"typical_p", KeyKind::UnbuiltSampling, 0, 0, 1},
    {"epsilon_cutoff", KeyKind::UnbuiltSampling},
    {"eta_cutoff", KeyKind::UnbuiltSampling},
    {"top_h", KeyKind::UnbuiltSampling},

    // Beams read these two; there are none yet.
    {"length_penalty", KeyKind::Ignored},
    {"early_stopping", KeyKind::Ignored},
    {"renormalize_logits", KeyKind::Ignored},
    {"remove_invalid_values", KeyKind::Ignored},
    {"decoder_start_token_id", KeyKind::Ignored},
    {"transformers_version", KeyKind::Ignored},
    {"_from_model_config", KeyKind::Ignored},
    {"_name_or_path", KeyKind::Ignored},
    {"use_cache", KeyKind::Ignored},
    {"cache_implementation", KeyKind::Ignored},
    {"cache_config", KeyKind::Ignored},
    {"max_cache_len", KeyKind::Ignored},
    {"low_memory", KeyKind::Ignored},
    {"prefill_chunk_size", KeyKind::Ignored},
    {"disable_compile", KeyKind::Ignored},
    {"compile_config", KeyKind::Ignored},
    {"continuous_batching_config", KeyKind::Ignored},
    {"output_attentions", KeyKind::Ignored},
    {"output_hidden_states", KeyKind::Ignored},
    {"output_scores", KeyKind::Ignored},
    {"output_logits", KeyKind::Ignored},
    {"return_dict_in_generate", KeyKind::Ignored},
    {"is_assistant", KeyKind::Ignored},
    {"num_assistant_tokens", KeyKind::Ignored},
    {"num_assistant_tokens_schedule", KeyKind::Ignored},
    {"assistant_confidence_threshold", KeyKind::Ignored},
    {"assistant_early_exit", KeyKind::Ignored},
    {"assistant_lookbehind", KeyKind::Ignored},
    {"assistant_ensemble_weight", KeyKind::Ignored},
    {"target_lookbehind", KeyKind::Ignored},
    {"prompt_lookup_num_tokens", KeyKind::Ignored},
    {"max_matching_ngram_size", KeyKind::Ignored},
    {"speculation_type", KeyKind::Ignored},
};

const Key *findKey(std::string_view name) {
  for (const Key &key : keys)
    if (name == key.name)
      return &key;
  return nullptr;
}

/// Merges the two files into one JSON object.
class SettingsReader {
public:
  explicit SettingsReader(const std::string &folder) : folder(folder) {}
  Result<GenerationSettings> read();

private:
  Result<std::optional<JsonDocument>> open(const std::string &name);
  Result<void> write(JsonWriter &json, const Key &key, JsonValue value);
  void noteUnknown(JsonValue root, const std::string &file);
  /// The value of a key: of the first file that has it.
  std::optional<JsonValue> find(const char *key) const;

  const std::string &folder;
  GenerationSettings settings;
  std::vector<JsonDocument> documents;
  std::vector<std::string> unbuilt, unbuiltSampling;
};

} // namespace

Result<std::optional<JsonDocument>>
SettingsReader::open(const std::string &name) {
  const std::string path = joinPath(folder, name);
  if (!fileExists(path))
    return std::optional<JsonDocument>();
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  TRANSOM_TRY(document.root().expectObject());
  return std::optional<JsonDocument>(document);
}

std::optional<JsonValue> SettingsReader::find(const char *key) const {
  for (const JsonDocument &document : documents)
    if (auto value = document.root().find(key); value && !value->isNull())
      return value;
  return std::nullopt;
}

/// True where a value of something that is not built asks for nothing.
static bool isNeutral(const Key &key, JsonValue value) {
  if (value.isBool())
    return !*value.asBool();
  if (value.isNumber()) {
    const double number = *value.asDouble();
    return number == 0 || number == key.neutral;
  }
  return value.isString() ? value.asString()->empty() : value.size() == 0;
}

/// A key with a scalar value, as in "typical_p 0.5".
static std::string wordsFor(const Key &key, JsonValue value) {
  std::string text = "'" + std::string(key.name) + "'";
  if (!value.isNumber())
    return text;
  text += ' ';
  JsonWriter json(text);
  if (value.isInteger())
    json.value(value.asInt() ? *value.asInt() : 0);
  else
    json.value(*value.asDouble());
  return text;
}

static std::string textOf(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

static Result<void> writeNumber(JsonWriter &json, const Key &key,
                                JsonValue value) {
  TRANSOM_ASSIGN(double number, value.asDouble());
  if (!(number >= key.low && number <= key.high))
    return value.error("expected a number in [" + textOf(key.low) + ", " +
                       textOf(key.high) + "], got " + textOf(number));
  json.member(key.name, number);
  return {};
}

static Result<void> writeIds(JsonWriter &json, const Key &key,
                             JsonValue value) {
  constexpr int64_t low = std::numeric_limits<int64_t>::min();
  constexpr int64_t high = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> ids;
  if (value.isArray()) {
    TRANSOM_ASSIGN(std::vector<int64_t> list, value.asIntArray(low, high));
    ids = std::move(list);
  } else {
    Result<int64_t> id = value.asInt();
    if (!id)
      return value.typeError("an integer or a list of integers");
    ids.push_back(*id);
  }
  json.key(key.name);
  json.array(ids);
  return {};
}

static Result<void> writeTexts(JsonWriter &json, const Key &key,
                               JsonValue value) {
  std::vector<std::string> texts;
  if (value.isString()) {
    texts.emplace_back(*value.asString());
  } else {
    TRANSOM_ASSIGN(std::vector<std::string> list, value.asStringArray());
    texts = std::move(list);
  }
  for (const std::string &text : texts)
    if (text.empty())
      return value.error("a stop string is empty");
  json.key(key.name);
  json.array(texts);
  return {};
}

template <typename T>
static Result<void> writeScalar(JsonWriter &json, const Key &key,
                                Result<T> value) {
  if (!value)
    return value.takeError();
  json.member(key.name, *value);
  return {};
}

Result<void> SettingsReader::write(JsonWriter &json, const Key &key,
                                   JsonValue value) {
  switch (key.kind) {
  case KeyKind::Integer:
    return writeScalar(json, key,
                       value.asInt(int64_t(key.low), int64_t(key.high)));
  case KeyKind::Number:
    return writeNumber(json, key, value);
  case KeyKind::Flag:
    return writeScalar(json, key, value.asBool());
  case KeyKind::Id:
    return writeScalar(json, key, value.asInt());
  case KeyKind::Ids:
    return writeIds(json, key, value);
  case KeyKind::Texts:
    return writeTexts(json, key, value);
  case KeyKind::Unbuilt:
  case KeyKind::UnbuiltSampling:
    if (!isNeutral(key, value))
      (key.kind == KeyKind::Unbuilt ? unbuilt : unbuiltSampling)
          .push_back(wordsFor(key, value));
    return {};
  case KeyKind::Ignored:
    break;
  }
  return {};
}

void SettingsReader::noteUnknown(JsonValue root, const std::string &file) {
  for (JsonValue::Member member : root.members())
    if (!findKey(member.key))
      settings.notes.push_back(file + ": key '" + utf8::printable(member.key) +
                               "' is not known and has no effect");
}

Result<GenerationSettings> SettingsReader::read() {
  const std::string own = "generation_config.json";
  for (const std::string &name : {own, std::string("config.json")}) {
    TRANSOM_ASSIGN(std::optional<JsonDocument> document, open(name));
    if (!document)
      continue;
    documents.push_back(*document);
    if (name != own)
      continue;
    settings.files.push_back(name);
    noteUnknown(document->root(), name);
  }
  JsonWriter json(settings.json);
  json.beginObject();
  for (const Key &key : keys)
    if (auto value = find(key.name))
      TRANSOM_TRY(write(json, key, *value));
  for (auto [name, list] : {std::pair("unbuilt", &unbuilt),
                            std::pair("unbuilt_sampling", &unbuiltSampling)})
    if (!list->empty()) {
      json.key(name);
      json.array(*list);
    }
  json.endObject();
  return std::move(settings);
}

Result<GenerationSettings>
transom::readGenerationConfig(const std::string &folder) {
  return SettingsReader(folder).read();
}
