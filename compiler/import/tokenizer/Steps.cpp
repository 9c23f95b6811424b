// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizers and truncation, and helpers shared by all readers. A
// BertNormalizer or a Sequence is flattened into its steps.
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/CharacterMap.h"
#include "compiler/import/tokenizer/regex/Regex.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Normalizer.h"
#include <algorithm>

namespace transom::tokenizer {

//===-- Members -----------------------------------------------------------===//

Result<std::string_view> readType(JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  return readText(value, "type");
}

Error unsupportedType(JsonValue value, const std::string &what,
                      std::string_view name, const std::string &supported) {
  return value.error("unsupported " + what + " '" + std::string(name) +
                         "'; supported: " + supported,
                     Status::Unsupported);
}

Result<std::string_view> readText(JsonValue object, std::string_view key) {
  TRANSOM_ASSIGN(auto value, object.get(key));
  return value.asString();
}

Result<std::string_view> readCharacter(JsonValue object, std::string_view key) {
  auto text = readText(object, key);
  if (text && utf8::length(*text) != 1)
    return object.find(key)->error("expected one character, got '" +
                                   utf8::printable(*text) + "'");
  return text;
}

Result<bool> readFlag(JsonValue object, std::string_view key,
                      std::optional<bool> fallback) {
  if (fallback && !object.find(key))
    return *fallback;
  TRANSOM_ASSIGN(auto value, object.get(key));
  return value.asBool();
}

Result<uint32_t> readName(JsonValue object, std::string_view key,
                          const std::vector<const char *> &names,
                          std::optional<uint32_t> fallback) {
  auto present = object.find(key);
  if (fallback && (!present || present->isNull()))
    return *fallback;
  TRANSOM_ASSIGN(auto value, object.get(key));
  TRANSOM_ASSIGN(auto text, value.asString());
  uint32_t index = 1;
  std::string all;
  for (const char *name : names) {
    if (text == name)
      return index;
    ++index;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return value.error("unknown " + std::string(key) + " '" + std::string(text) +
                     "'; supported: " + all);
}

Result<std::string> readPattern(JsonValue object) {
  TRANSOM_ASSIGN(auto pattern, object.get("pattern"));
  TRANSOM_TRY(pattern.expectObject());
  auto regex = pattern.find("Regex"), literal = pattern.find("String");
  if (!regex && !literal)
    return pattern.error("expected a 'String' or a 'Regex'");
  JsonValue value = regex ? *regex : *literal;
  TRANSOM_ASSIGN(auto text, value.asString());
  auto program = regex ? compileRegex(text) : compileLiteral(text);
  if (!program)
    return value.error(program.error().message, Status::Unsupported);
  return program;
}

Result<void> readEach(JsonValue object, std::string_view key,
                      const std::function<Result<void>(JsonValue)> &read) {
  TRANSOM_ASSIGN(auto list, object.get(key));
  TRANSOM_TRY(list.expectArray());
  for (JsonValue element : list.elements())
    TRANSOM_TRY(read(element));
  return {};
}

//===-- Normalizers -------------------------------------------------------===//

Step &addStep(Draft &draft, NormalizerStep kind) {
  Step step{};
  step.kind = static_cast<uint32_t>(kind);
  draft.normalizerSteps.push_back(step);
  return draft.normalizerSteps.back();
}

static Result<void> readBertNormalizer(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto clean, readFlag(value, "clean_text"));
  TRANSOM_ASSIGN(auto chinese, readFlag(value, "handle_chinese_chars"));
  TRANSOM_ASSIGN(auto lowercase, readFlag(value, "lowercase"));
  bool stripAccents = lowercase;
  if (auto strip = value.find("strip_accents"); strip && !strip->isNull()) {
    TRANSOM_ASSIGN(auto flag, strip->asBool());
    stripAccents = flag;
  }
  if (clean)
    addStep(draft, NormalizerStep::CleanText);
  if (chinese)
    addStep(draft, NormalizerStep::SpaceChinese);
  if (stripAccents) {
    addStep(draft, NormalizerStep::Decompose);
    addStep(draft, NormalizerStep::RemoveNonspacing);
  }
  if (lowercase)
    addStep(draft, NormalizerStep::Lowercase);
  return {};
}

static Result<void> readPrepend(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto text, readText(value, "prepend"));
  addStep(draft, NormalizerStep::Prepend).first = draft.addStepText(text);
  return {};
}

static Result<void> readReplace(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto program, readPattern(value));
  TRANSOM_ASSIGN(auto content, readText(value, "content"));
  Step &step = addStep(draft, NormalizerStep::Replace);
  step.first = draft.addStepText(program);
  step.second = draft.addStepText(content);
  return {};
}

static Result<void> readStrip(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto left, readFlag(value, "strip_left"));
  TRANSOM_ASSIGN(auto right, readFlag(value, "strip_right"));
  if (left)
    addStep(draft, NormalizerStep::StripLeft);
  if (right)
    addStep(draft, NormalizerStep::StripRight);
  return {};
}

Result<void> addCharacterMap(std::string_view bytes, Draft &draft) {
  TRANSOM_ASSIGN(CharacterMap map, readCharacterMap(bytes));
  Step &step = addStep(draft, NormalizerStep::MapCharacters);
  step.first = draft.addStepText(map.trie);
  step.second = draft.addStepText(map.strings);
  return {};
}

static Result<std::string> decodeMap(JsonValue map) {
  TRANSOM_ASSIGN(auto text, map.asString());
  std::optional<std::string> bytes = decodeBase64(text);
  if (!bytes)
    return map.error("expected a text in base 64");
  return std::move(*bytes);
}

static Result<void> readPrecompiled(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto map, value.get("precompiled_charsmap"));
  TRANSOM_ASSIGN(std::string bytes, decodeMap(map));
  Result<void> added = addCharacterMap(bytes, draft);
  if (!added)
    return map.error(added.error().message, added.error().status);
  return {};
}

Result<std::string> findCharacterMap(std::optional<JsonValue> normalizer) {
  if (!normalizer || !normalizer->isObject())
    return std::string();
  std::vector<JsonValue> steps = {*normalizer};
  if (auto list = normalizer->find("normalizers"); list && list->isArray())
    for (JsonValue element : list->elements())
      steps.push_back(element);
  for (JsonValue step : steps) {
    TRANSOM_ASSIGN(auto type, readType(step));
    auto map = step.find("precompiled_charsmap");
    if (type == "Precompiled" && map)
      return decodeMap(*map);
  }
  return std::string();
}

void addLowercase(Draft &draft) {
  auto &steps = draft.normalizerSteps;
  const auto kind = static_cast<uint32_t>(NormalizerStep::Lowercase);
  if (std::any_of(steps.begin(), steps.end(),
                  [&](const Step &step) { return step.kind == kind; }))
    return;
  addStep(draft, NormalizerStep::Lowercase);
  std::rotate(steps.begin(), steps.end() - 1, steps.end());
}

Result<void> readNormalizer(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto type, readType(value));
  if (type == "BertNormalizer")
    return readBertNormalizer(value, draft);
  if (type == "Sequence")
    return readEach(value, "normalizers", [&](JsonValue element) {
      return readNormalizer(element, draft);
    });
  if (type == "Precompiled")
    return readPrecompiled(value, draft);
  if (type == "Prepend")
    return readPrepend(value, draft);
  if (type == "Replace")
    return readReplace(value, draft);
  if (type == "Strip")
    return readStrip(value, draft);
  static constexpr std::pair<const char *, NormalizerStep> steps[] = {
      {"ByteLevel", NormalizerStep::ToBytes},
      {"Lowercase", NormalizerStep::Lowercase},
      {"NFC", NormalizerStep::Compose},
      {"NFD", NormalizerStep::Decompose},
      {"NFKC", NormalizerStep::ComposeCompatibly},
      {"NFKD", NormalizerStep::DecomposeCompatibly},
      {"Nmt", NormalizerStep::CleanControls},
      {"StripAccents", NormalizerStep::RemoveMarks}};
  for (auto &[name, step] : steps)
    if (type == name) {
      addStep(draft, step);
      return {};
    }
  return unsupportedType(
      value, "normalizer", type,
      "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, "
      "Precompiled, Prepend, Replace, Sequence, Strip, StripAccents");
}

//===-- Truncation --------------------------------------------------------===//

Result<void> readTruncation(std::optional<JsonValue> value,
                            Parameters &parameters) {
  parameters.truncationStrategy = TruncationStrategy::LongestFirst;
  parameters.truncationSide = TruncationSide::Right;
  if (!value || value->isNull())
    return {};
  TRANSOM_TRY(value->expectObject());
  TRANSOM_ASSIGN(auto length, value->get("max_length"));
  TRANSOM_ASSIGN(auto number, length.asUint());
  if (number == 0)
    return length.error("expected a maximum length of at least 1, got 0");
  TRANSOM_ASSIGN(auto strategy,
                 readName(*value, "strategy",
                          {"LongestFirst", "OnlyFirst", "OnlySecond"}));
  parameters.truncationLength =
      static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
  parameters.truncationStrategy = static_cast<TruncationStrategy>(strategy);
  if (value->find("direction")) {
    TRANSOM_ASSIGN(auto side, readName(*value, "direction", {"Right", "Left"}));
    parameters.truncationSide = static_cast<TruncationSide>(side);
  }
  return {};
}

} // namespace transom::tokenizer
