// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precedence is the same as in PreTrainedTokenizerBase._from_pretrained in
// transformers 5: if tokenizer_config.json has `added_tokens_decoder`, as in
// newer folders, the two other files have no effect.
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/json/JsonParser.h"
#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace transom::tokenizer {

/// Roles supported by every transformers tokenizer.
static constexpr const char *roles[] = {"bos_token", "eos_token", "unk_token",
                                        "sep_token", "pad_token", "cls_token",
                                        "mask_token"};

static bool isRole(std::string_view key) {
  return std::find(std::begin(roles), std::end(roles), key) != std::end(roles);
}

const NamedToken *TokenizerSettings::find(std::string_view key) const {
  for (const NamedToken &token : named)
    if (token.key == key)
      return &token;
  return nullptr;
}

static std::optional<JsonValue> findSetting(const TokenizerSettings &settings,
                                            std::string_view key) {
  auto value = settings.overrides ? settings.overrides->find(key)
                                  : std::optional<JsonValue>();
  if (!value)
    value = settings.documents[0].root().find(key);
  return value && value->isNull() ? std::nullopt : value;
}

Result<bool> TokenizerSettings::getFlag(std::string_view key,
                                        bool fallback) const {
  auto value = findSetting(*this, key);
  return value ? value->asBool() : fallback;
}

Result<std::optional<std::string>>
TokenizerSettings::getText(std::string_view key) const {
  auto value = findSetting(*this, key);
  if (!value)
    return std::optional<std::string>();
  TRANSOM_ASSIGN(std::string_view text, value->asString());
  return std::optional<std::string>(text);
}

Result<bool> TokenizerSettings::truncatesLeft(bool fallback) const {
  TRANSOM_ASSIGN(std::optional<std::string> side, getText("truncation_side"));
  if (!side)
    return fallback;
  if (*side != "left" && *side != "right")
    return findSetting(*this, "truncation_side")
        ->error("unknown truncation_side '" + *side +
                "'; supported: left, right");
  return *side == "left";
}

Result<std::optional<std::vector<std::string>>>
TokenizerSettings::getTexts(std::string_view key) const {
  auto value = findSetting(*this, key);
  std::optional<std::vector<std::string>> texts;
  if (!value)
    return texts;
  TRANSOM_TRY(value->expectArray());
  texts.emplace();
  for (JsonValue element : value->elements()) {
    TRANSOM_ASSIGN(std::string_view text, element.asString());
    texts->emplace_back(text);
  }
  return texts;
}

Result<int64_t> TokenizerSettings::getNumber(std::string_view key,
                                             int64_t fallback,
                                             int64_t limit) const {
  auto value = findSetting(*this, key);
  return value ? value->asInt(0, limit) : fallback;
}

Result<std::optional<int64_t>> TokenizerSettings::getMaxLength() const {
  auto value = findSetting(*this, "model_max_length");
  const bool hasKey = (overrides && overrides->find("model_max_length")) ||
                      documents[0].root().find("model_max_length");
  if (!hasKey)
    value = findSetting(*this, "max_len");
  // transformers writes 10^30 if there is no length.
  if (!value || value->isNull() ||
      (value->isNumber() && *value->asDouble() > INT32_MAX))
    return std::optional<int64_t>();
  TRANSOM_ASSIGN(int64_t length, value->asInt(1, INT32_MAX));
  return std::optional(length);
}

//===-- Tokens ------------------------------------------------------------===//

static Result<TokenSetting> readToken(JsonValue value, bool special) {
  TokenSetting token;
  token.value = value;
  token.special = special;
  if (value.isString()) {
    token.isText = token.special = true;
    token.content = *value.asString();
    return token;
  }
  TRANSOM_TRY(value.expectObject());
  TRANSOM_ASSIGN(JsonValue content, value.get("content"));
  TRANSOM_ASSIGN(std::string_view text, content.asString());
  token.content = text;
  const std::pair<const char *, bool *> flags[] = {
      {"special", &token.special},
      {"single_word", &token.singleWord},
      {"lstrip", &token.leftStrip},
      {"rstrip", &token.rightStrip}};
  for (auto &[key, target] : flags)
    if (auto flag = value.find(key)) {
      TRANSOM_ASSIGN(*target, flag->asBool());
    }
  token.special |= special;
  if (auto flag = value.find("normalized"); flag && !flag->isNull()) {
    TRANSOM_ASSIGN(token.normalized, flag->asBool());
  }
  return token;
}

static Result<std::vector<TokenSetting>> readList(JsonValue list) {
  std::vector<TokenSetting> tokens;
  if (list.isNull())
    return tokens;
  TRANSOM_TRY(list.expectArray());
  for (JsonValue element : list.elements()) {
    TRANSOM_ASSIGN(TokenSetting token, readToken(element, false));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

namespace {
/// Reads the files sequentially.
class Reader {
public:
  Result<TokenizerSettings> run(const SettingFiles &files,
                                std::optional<JsonValue> serialized) {
    settings.overrides = files.overrides;
    TRANSOM_TRY(readConfig(files.config));
    if (auto decoder =
            settings.documents[0].root().find("added_tokens_decoder")) {
      TRANSOM_TRY(readDecoder(*decoder));
    } else {
      if (files.specialTokens)
        TRANSOM_TRY(readSpecialTokens(*files.specialTokens));
      if (files.addedTokens)
        TRANSOM_TRY(readAdded(*files.addedTokens));
      auto list = serialized ? serialized->find("added_tokens")
                             : std::optional<JsonValue>();
      if (list && !list->isNull())
        TRANSOM_TRY(readSerialized(*list));
    }
    return std::move(settings);
  }

private:
  void name(std::string_view key, std::optional<TokenSetting> token) {
    auto [place, fresh] =
        namedPlaces.insert({std::string(key), settings.named.size()});
    if (fresh)
      settings.named.push_back({std::string(key), std::move(token)});
    else
      settings.named[place->second].token = std::move(token);
  }

  Result<void> readNamed(JsonValue root, bool special) {
    for (JsonValue::Member member : root.members()) {
      const bool suffix =
          member.key.size() > 6 &&
          member.key.substr(member.key.size() - 6) == "_token" &&
          (member.value.isString() || member.value.isObject());
      if (isRole(member.key) && member.value.isNull())
        name(member.key, std::nullopt);
      else if (isRole(member.key) || suffix) {
        TRANSOM_ASSIGN(TokenSetting token, readToken(member.value, special));
        name(member.key, std::move(token));
      }
    }
    return {};
  }

  /// Reads a list of tokens, or an object with tokens in additional roles.
  Result<void> readExtra(JsonValue value) {
    if (!value.isObject()) {
      TRANSOM_ASSIGN(std::vector<TokenSetting> tokens, readList(value));
      if (!settings.extra)
        settings.extra.emplace();
      settings.extra->insert(settings.extra->end(), tokens.begin(),
                             tokens.end());
      return {};
    }
    for (JsonValue::Member member : value.members()) {
      TRANSOM_ASSIGN(TokenSetting token, readToken(member.value, false));
      name(member.key, std::move(token));
    }
    return {};
  }

  Result<void> readConfig(const std::optional<NamedFile> &file) {
    TRANSOM_ASSIGN(JsonDocument document,
                   parseJson(file ? file->bytes : "{}",
                             file ? file->name : "tokenizer_config.json",
                             JsonNumbers::Python));
    settings.documents.push_back(document);
    JsonValue root = document.root();
    TRANSOM_TRY(root.expectObject());
    TRANSOM_TRY(readNamed(root, false));
    if (settings.overrides)
      TRANSOM_TRY(readNamed(*settings.overrides, false));
    auto extra = root.find("extra_special_tokens");
    auto additional = root.find("additional_special_tokens");
    const bool isEmpty =
        !extra || extra->isNull() || (!extra->isString() && extra->size() == 0);
    if (additional && isEmpty)
      extra = additional;
    return extra ? readExtra(*extra) : Result<void>();
  }

  static Result<uint32_t> readId(JsonValue value, std::string_view text) {
    uint32_t id = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size() ||
        id >= idLimit)
      return value.error("expected an id as the key");
    return id;
  }

  Result<void> readDecoder(JsonValue decoder) {
    TRANSOM_TRY(decoder.expectObject());
    for (JsonValue::Member member : decoder.members()) {
      TRANSOM_ASSIGN(TokenSetting token, readToken(member.value, false));
      TRANSOM_ASSIGN(token.id, readId(member.value, member.key));
      settings.added.push_back(std::move(token));
    }
    sortAdded();
    takeFlags();
    return {};
  }

  /// Tokens with a role use the listed token with its flags.
  void takeFlags() {
    for (NamedToken &named : settings.named) {
      if (!named.token || !isRole(named.key))
        continue;
      for (const TokenSetting &token : settings.added)
        if (named.token->content == token.content)
          named.token = token;
    }
  }

  /// Reads `added_tokens` in tokenizer.json; a token replaces one with the same
  /// id.
  Result<void> readSerialized(JsonValue list) {
    TRANSOM_TRY(list.expectArray());
    std::map<uint32_t, TokenSetting> byId;
    for (JsonValue element : list.elements()) {
      TRANSOM_ASSIGN(TokenSetting token, readToken(element, false));
      TRANSOM_ASSIGN(JsonValue number, element.get("id"));
      TRANSOM_ASSIGN(int64_t id, number.asInt(0, idLimit - 1));
      token.id = static_cast<uint32_t>(id);
      byId.insert_or_assign(*token.id, std::move(token));
    }
    auto &added = settings.added;
    added.erase(std::remove_if(added.begin(), added.end(),
                               [&](const TokenSetting &old) {
                                 return byId.count(*old.id) != 0;
                               }),
                added.end());
    for (auto &[id, token] : byId)
      added.push_back(std::move(token));
    sortAdded();
    takeFlags();
    return {};
  }

  Result<void> readSpecialTokens(const NamedFile &file) {
    TRANSOM_ASSIGN(JsonDocument document,
                   parseJson(file.bytes, file.name, JsonNumbers::Python));
    JsonValue root = document.root();
    TRANSOM_TRY(root.expectObject());
    TRANSOM_TRY(readNamed(root, true));
    if (auto extra = root.find("extra_special_tokens"))
      TRANSOM_TRY(readExtra(*extra));
    if (auto list = root.find("additional_special_tokens")) {
      TRANSOM_ASSIGN(settings.additional, readList(*list));
    }
    settings.documents.push_back(document);
    return {};
  }

  /// Reads strings and ids; tokens that another key names are special.
  Result<void> readAdded(const NamedFile &file) {
    TRANSOM_ASSIGN(JsonDocument document,
                   parseJson(file.bytes, file.name, JsonNumbers::Python));
    TRANSOM_TRY(document.root().expectObject());
    const std::unordered_set<std::string_view> special = getSpecial();
    for (JsonValue::Member member : document.root().members()) {
      TokenSetting token;
      token.content = member.key;
      token.value = member.value;
      TRANSOM_ASSIGN(int64_t id, member.value.asInt(0, idLimit - 1));
      token.id = static_cast<uint32_t>(id);
      token.special = special.count(member.key) != 0;
      token.normalized = !token.special;
      settings.added.push_back(std::move(token));
    }
    sortAdded();
    settings.documents.push_back(document);
    return {};
  }

  /// Returns the tokens that another key makes special.
  std::unordered_set<std::string_view> getSpecial() const {
    std::unordered_set<std::string_view> special;
    for (const NamedToken &named : settings.named)
      if (isRole(named.key) && named.token)
        special.insert(named.token->content);
    if (settings.extra)
      for (const TokenSetting &token : *settings.extra)
        special.insert(token.content);
    return special;
  }

  void sortAdded() {
    std::sort(settings.added.begin(), settings.added.end(),
              [](const TokenSetting &a, const TokenSetting &b) {
                return *a.id < *b.id;
              });
  }

  TokenizerSettings settings;
  std::unordered_map<std::string, size_t> namedPlaces; ///< by key
};
} // namespace

Result<TokenizerSettings>
readTokenizerSettings(const SettingFiles &files,
                      std::optional<JsonValue> serialized) {
  return Reader().run(files, serialized);
}

Error nameFile(Error error, const SettingFiles &files, std::string_view other) {
  auto isAbout = [&](std::string_view name) {
    return error.message.compare(0, name.size(), name) == 0;
  };
  for (const std::optional<NamedFile> *file :
       {&files.config, &files.specialTokens, &files.addedTokens})
    if (*file && isAbout((*file)->name))
      return error;
  if (!isAbout(other))
    error.message = std::string(other) + ": " + error.message;
  return error;
}

} // namespace transom::tokenizer
