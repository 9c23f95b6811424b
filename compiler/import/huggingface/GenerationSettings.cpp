// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options come from the generation option table; a second table describes all
// other keys. As in transformers 5, config.json has generation settings only if
// there is no generation_config.json. A null means no value: it hides the value
// in config.json and the model family's default.
#include "compiler/import/huggingface/GenerationSettings.h"
#include "compiler/import/huggingface/GenerationOptionWriter.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonParser.h"
#include <algorithm>
#include <cstdint>
#include <optional>

using namespace transom;

namespace {

/// Handling of a key that is not a generation option.
enum class KeyKind {
  Unsupported,         ///< unsupported except for its neutral values
  UnsupportedSampling, ///< the same, with an effect on sampling only
  Ignored              ///< has no effect on generation
};

struct Key {
  const char *name;
  KeyKind kind;
  /// For unsupported keys: the number that means "off", in addition to null,
  /// false, 0 and empty values.
  double neutral = 0;
};

constexpr Key keys[] = {
    {"num_beam_groups", KeyKind::Unsupported, 1},
    {"diversity_penalty", KeyKind::Unsupported},
    {"penalty_alpha", KeyKind::Unsupported},
    {"dola_layers", KeyKind::Unsupported},
    {"encoder_repetition_penalty", KeyKind::Unsupported, 1},
    {"force_words_ids", KeyKind::Unsupported},
    {"constraints", KeyKind::Unsupported},
    {"sequence_bias", KeyKind::Unsupported},
    {"guidance_scale", KeyKind::Unsupported, 1},
    {"exponential_decay_length_penalty", KeyKind::Unsupported},
    {"watermarking_config", KeyKind::Unsupported},
    {"token_healing", KeyKind::Unsupported},
    {"max_time", KeyKind::Unsupported},
    {"use_mtp", KeyKind::Unsupported},
    {"typical_p", KeyKind::UnsupportedSampling, 1},
    {"epsilon_cutoff", KeyKind::UnsupportedSampling},
    {"eta_cutoff", KeyKind::UnsupportedSampling},
    {"top_h", KeyKind::UnsupportedSampling},

    {"remove_invalid_values", KeyKind::Ignored},
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

/// Returns true for a key in the option table. An option takes precedence over
/// its entry in `keys`.
bool isOption(std::string_view name) {
  bool found = false;
  visitGenerationOptions([&](const GenerationOption &option, auto, auto) {
    found |= name == option.key;
  });
  return found;
}

/// Writes the settings from the relevant file as one JSON object.
class SettingsReader {
public:
  SettingsReader(const SmallFiles &files,
                 const std::vector<GenerationDefault> &defaults,
                 const GenerationModel &model)
      : files(files), defaults(defaults), model(model) {}
  Result<GenerationSettings> read(bool ignoreFile);

private:
  Result<std::optional<JsonDocument>> open(const std::string &name);
  Result<void> openAll(bool ignoreFile);
  bool usesModelConfig(std::string_view key) const;
  Result<void> writeOptions(JsonWriter &json) const;
  std::optional<int64_t> findDefault(const char *key) const;
  Result<void> checkIds() const;
  Result<void> checkBadWords(int64_t vocabulary) const;
  void noteEndTokens();
  void noteModelConfig();
  void collectUnsupported();
  void noteUnknown(JsonValue root, const std::string &file);
  void noteUnsupported(const Key &key, const std::string &words);
  /// Returns a key's value; nullopt for null.
  std::optional<JsonValue> find(const char *key) const;
  bool hasKey(const char *key) const {
    return document && document->root().find(key);
  }

  const SmallFiles &files;
  const std::vector<GenerationDefault> &defaults;
  const GenerationModel &model;
  GenerationSettings settings;
  std::optional<JsonDocument> document; ///< the file with the settings
  /// config.json, if generation_config.json has the settings.
  std::optional<JsonDocument> modelConfig;
  std::vector<std::string> unsupported, unsupportedSampling;
};

} // namespace

bool transom::isGenerationKey(std::string_view name) {
  return isOption(name) ||
         std::any_of(std::begin(keys), std::end(keys),
                     [&](const Key &key) { return name == key.name; });
}

Result<std::optional<JsonDocument>>
SettingsReader::open(const std::string &name) {
  if (!files.has(name))
    return std::optional<JsonDocument>();
  TRANSOM_ASSIGN(std::string text, files.read(name, jsonMaxBytes));
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJson(text, files.getPath(name), JsonNumbers::Python));
  TRANSOM_TRY(document.root().expectObject());
  return std::optional<JsonDocument>(document);
}

/// Returns true for a config.json key that is used next to
/// generation_config.json. transformers does not read it there: without an end
/// token generation would never stop, and without a start token it fails.
bool SettingsReader::usesModelConfig(std::string_view key) const {
  if (!modelConfig)
    return false;
  if (key == "eos_token_id")
    return !hasKey("eos_token_id");
  return (key == "decoder_start_token_id" || key == "bos_token_id") &&
         !hasKey("decoder_start_token_id") && !hasKey("bos_token_id");
}

std::optional<JsonValue> SettingsReader::find(const char *key) const {
  std::optional<JsonValue> value;
  if (document)
    value = document->root().find(key);
  if (!value && usesModelConfig(key))
    value = modelConfig->root().find(key);
  return value && value->isNull() ? std::nullopt : value;
}

/// Returns the family's default. transformers uses it only if there is no
/// generation_config.json, through the config.json class.
std::optional<int64_t> SettingsReader::findDefault(const char *key) const {
  if (!settings.files.empty() || hasKey(key))
    return std::nullopt;
  for (const GenerationDefault &entry : defaults)
    if (std::string_view(key) == entry.key)
      return entry.value;
  return std::nullopt;
}

/// Returns true if the value of an unsupported key has no effect.
static bool isNeutral(const Key &key, JsonValue value) {
  if (value.isBool())
    return !*value.asBool();
  if (value.isNumber()) {
    const double number = *value.asDouble();
    return number == 0 || number == key.neutral;
  }
  return value.isString() ? value.asString()->empty() : value.size() == 0;
}

/// Returns a key, with its value if it is a number: `'typical_p' 0.5`.
static std::string getWords(const Key &key, JsonValue value) {
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

Result<void> SettingsReader::writeOptions(JsonWriter &json) const {
  const GenerationConfig types;
  Result<void> result;
  visitGenerationOptions([&](const GenerationOption &option, auto member,
                             auto) {
    if (auto value = find(option.key); value && result)
      result =
          GenerationOptionWriter(json, option).write(*value, types.*member);
    else if (auto number = findDefault(option.key))
      GenerationOptionWriter(json, option).writeDefault(*number, types.*member);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

/// Returns an id that the model does not have, in a value or in the lists in
/// it.
static std::optional<JsonValue> findForeignId(JsonValue value,
                                              int64_t vocabulary) {
  if (!value.isArray()) {
    const Result<int64_t> id = value.asInt();
    const bool isForeign = id && (*id < 0 || *id >= vocabulary);
    return isForeign ? std::optional(value) : std::nullopt;
  }
  for (JsonValue element : value.elements())
    if (auto found = findForeignId(element, vocabulary))
      return found;
  return std::nullopt;
}

/// Returns the error for an id:
/// `id 500 is not in the vocabulary of 211 tokens`.
static std::string describeForeignId(JsonValue id, int64_t vocabulary) {
  return "id " + std::to_string(*id.asInt()) + " is not in the vocabulary of " +
         std::to_string(vocabulary) + " tokens";
}

static Result<void> expectIds(std::optional<JsonValue> value,
                              int64_t vocabulary) {
  if (value)
    if (auto id = findForeignId(*value, vocabulary))
      return id->error(describeForeignId(*id, vocabulary));
  return {};
}

/// Checks bad words. An entry with only an end token is ignored, as in
/// transformers.
Result<void> SettingsReader::checkBadWords(int64_t vocabulary) const {
  const std::optional<JsonValue> words = find("bad_words_ids");
  if (!words)
    return {};
  const std::optional<JsonValue> ends = find("eos_token_id");
  auto isEnd = [&](int64_t id) {
    bool found = ends && ends->isInteger() && *ends->asInt() == id;
    if (ends && ends->isArray())
      for (JsonValue end : ends->elements())
        found |= *end.asInt() == id;
    return found;
  };
  for (JsonValue word : words->elements())
    if (word.size() != 1 || !isEnd(*word[0].asInt()))
      TRANSOM_TRY(expectIds(word, vocabulary));
  return {};
}

/// Rejects ids that generation selects or starts with if the model does not
/// have them. Others never occur, so they have no effect. The value types have
/// been checked.
Result<void> SettingsReader::checkIds() const {
  if (!model.vocabulary)
    return {};
  const int64_t vocabulary = *model.vocabulary;
  for (const char *key : {"forced_bos_token_id", "forced_eos_token_id"})
    TRANSOM_TRY(expectIds(find(key), vocabulary));
  TRANSOM_TRY(checkBadWords(vocabulary));

  // A target starts with the start token, or else with the begin token.
  if (!model.hasSource)
    return {};
  const char *start = "decoder_start_token_id";
  if (auto value = find(start))
    return expectIds(value, vocabulary);
  return findDefault(start) ? Result<void>()
                            : expectIds(find("bos_token_id"), vocabulary);
}

/// Adds a note for an end token that is never generated. Negative ids mean no
/// token.
void SettingsReader::noteEndTokens() {
  const std::optional<JsonValue> ends = find("eos_token_id");
  if (!ends || !model.vocabulary)
    return;
  const std::optional<JsonValue> id = findForeignId(*ends, *model.vocabulary);
  if (id && *id->asInt() >= 0)
    settings.notes.push_back(
        "'eos_token_id': " + describeForeignId(*id, *model.vocabulary) +
        ", so it ends no text");
}

/// Adds a note for a config.json token that is used next to
/// generation_config.json.
void SettingsReader::noteModelConfig() {
  auto note = [&](const char *key, const char *effect) {
    if (!hasKey(key) && find(key))
      settings.notes.push_back("config.json: '" + std::string(key) + "' " +
                               effect +
                               ", since generation_config.json has none");
  };
  if (!modelConfig)
    return;
  note("eos_token_id", "ends texts");
  if (model.hasSource)
    note(find("decoder_start_token_id") ? "decoder_start_token_id"
                                        : "bos_token_id",
         "begins targets");
}

void SettingsReader::collectUnsupported() {
  for (const Key &key : keys) {
    std::optional<JsonValue> value = find(key.name);
    if (!value || key.kind == KeyKind::Ignored || isOption(key.name) ||
        isNeutral(key, *value))
      continue;
    (key.kind == KeyKind::Unsupported ? unsupported : unsupportedSampling)
        .push_back(getWords(key, *value));
    noteUnsupported(key, getWords(key, *value));
  }
}

void SettingsReader::noteUnsupported(const Key &key, const std::string &words) {
  const bool own = !settings.files.empty();
  settings.notes.push_back(
      (own ? "generation_config.json: " : "config.json: ") + words +
      " is not supported, and " +
      (key.kind == KeyKind::Unsupported ? "generation" : "sampling") +
      " fails while it is set" +
      (own ? "; '--ignore-generation-config' ignores the file" : ""));
}

void SettingsReader::noteUnknown(JsonValue root, const std::string &file) {
  for (JsonValue::Member member : root.members())
    if (!isGenerationKey(member.key) && !member.value.isNull())
      settings.notes.push_back(file + ": key '" + utf8::printable(member.key) +
                               "' is not known and has no effect");
}

Result<void> SettingsReader::openAll(bool ignoreFile) {
  const std::string own = "generation_config.json";
  if (!ignoreFile) {
    TRANSOM_ASSIGN(document, open(own));
  }
  TRANSOM_ASSIGN(std::optional<JsonDocument> config, open("config.json"));
  if (!document) {
    document = std::move(config);
    return {};
  }
  modelConfig = std::move(config);
  settings.files.push_back(own);
  noteUnknown(document->root(), own);
  return {};
}

Result<GenerationSettings> SettingsReader::read(bool ignoreFile) {
  TRANSOM_TRY(openAll(ignoreFile));
  JsonWriter json(settings.json);
  json.beginObject();
  TRANSOM_TRY(writeOptions(json));
  TRANSOM_TRY(checkIds());
  noteModelConfig();
  noteEndTokens();
  collectUnsupported();
  for (auto [name, list] :
       {std::pair("unsupported", &unsupported),
        std::pair("unsupported_sampling", &unsupportedSampling)})
    if (!list->empty()) {
      json.key(name);
      json.array(*list);
    }
  json.endObject();
  return std::move(settings);
}

Result<GenerationSettings>
transom::readGenerationSettings(const SmallFiles &files, bool ignoreFile,
                                const std::vector<GenerationDefault> &defaults,
                                const GenerationModel &model) {
  return SettingsReader(files, defaults, model).read(ignoreFile);
}
