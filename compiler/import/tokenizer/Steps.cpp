// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizers and truncation, and what the readers of all parts share. A
// BertNormalizer or a Sequence is flattened into the steps it is made of.
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Regex.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Normalizer.h"
#include <algorithm>

namespace transom::tokenizer {

//===-- Members -----------------------------------------------------------===//

Result<std::string_view> readType(JsonValue value) {
  if (auto object = value.expectObject(); !object)
    return object.takeError();
  return readText(value, "type");
}

Error unsupportedType(JsonValue value, const std::string &what,
                      std::string_view name, const std::string &supported) {
  return value.error("unsupported " + what + " '" + std::string(name) +
                         "'; supported: " + supported,
                     Status::Unsupported);
}

Result<std::string_view> readText(JsonValue object, std::string_view key) {
  auto value = object.get(key);
  if (!value)
    return value.takeError();
  return value->asString();
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
  auto value = object.get(key);
  if (!value)
    return value.takeError();
  return value->asBool();
}

Result<uint32_t> readName(JsonValue object, std::string_view key,
                          const std::vector<const char *> &names,
                          std::optional<uint32_t> fallback) {
  auto present = object.find(key);
  if (fallback && (!present || present->isNull()))
    return *fallback;
  auto value = object.get(key);
  if (!value)
    return value.takeError();
  auto text = value->asString();
  if (!text)
    return text.takeError();
  uint32_t index = 1;
  std::string all;
  for (const char *name : names) {
    if (*text == name)
      return index;
    ++index;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return value->error("unknown " + std::string(key) + " '" +
                      std::string(*text) + "'; supported: " + all);
}

Result<std::string> readPattern(JsonValue object) {
  auto pattern = object.get("pattern");
  if (!pattern)
    return pattern.takeError();
  if (auto isObject = pattern->expectObject(); !isObject)
    return isObject.takeError();
  auto regex = pattern->find("Regex"), literal = pattern->find("String");
  if (!regex && !literal)
    return pattern->error("expected a 'String' or a 'Regex'");
  JsonValue value = regex ? *regex : *literal;
  auto text = value.asString();
  if (!text)
    return text.takeError();
  if (text->empty())
    return value.error("unsupported empty pattern", Status::Unsupported);
  auto program = regex ? compileRegex(*text) : compileLiteral(*text);
  if (!program)
    return value.error(program.error().message, Status::Unsupported);
  return program;
}

Result<void> readEach(JsonValue object, std::string_view key,
                      const std::function<Result<void>(JsonValue)> &read) {
  auto list = object.get(key);
  if (!list)
    return list.takeError();
  if (auto array = list->expectArray(); !array)
    return array.takeError();
  for (JsonValue element : list->elements())
    if (auto done = read(element); !done)
      return done.takeError();
  return {};
}

//===-- Normalizers -------------------------------------------------------===//

static Step &add(Draft &draft, NormalizerStep kind) {
  Step step{};
  step.kind = static_cast<uint32_t>(kind);
  draft.normalizerSteps.push_back(step);
  return draft.normalizerSteps.back();
}

static Result<void> readBertNormalizer(JsonValue value, Draft &draft) {
  auto clean = readFlag(value, "clean_text");
  if (!clean)
    return clean.takeError();
  auto chinese = readFlag(value, "handle_chinese_chars");
  if (!chinese)
    return chinese.takeError();
  auto lowercase = readFlag(value, "lowercase");
  if (!lowercase)
    return lowercase.takeError();
  bool stripAccents = *lowercase;
  if (auto strip = value.find("strip_accents"); strip && !strip->isNull()) {
    auto flag = strip->asBool();
    if (!flag)
      return flag.takeError();
    stripAccents = *flag;
  }
  if (*clean)
    add(draft, NormalizerStep::CleanText);
  if (*chinese)
    add(draft, NormalizerStep::SpaceChinese);
  if (stripAccents) {
    add(draft, NormalizerStep::Decompose);
    add(draft, NormalizerStep::RemoveNonspacing);
  }
  if (*lowercase)
    add(draft, NormalizerStep::Lowercase);
  return {};
}

static Result<void> readPrepend(JsonValue value, Draft &draft) {
  auto text = readText(value, "prepend");
  if (!text)
    return text.takeError();
  add(draft, NormalizerStep::Prepend).first = draft.addStepText(*text);
  return {};
}

static Result<void> readReplace(JsonValue value, Draft &draft) {
  auto program = readPattern(value);
  if (!program)
    return program.takeError();
  auto content = readText(value, "content");
  if (!content)
    return content.takeError();
  Step &step = add(draft, NormalizerStep::Replace);
  step.first = draft.addStepText(*program);
  step.second = draft.addStepText(*content);
  return {};
}

static Result<void> readStrip(JsonValue value, Draft &draft) {
  auto left = readFlag(value, "strip_left");
  if (!left)
    return left.takeError();
  auto right = readFlag(value, "strip_right");
  if (!right)
    return right.takeError();
  if (*left)
    add(draft, NormalizerStep::StripLeft);
  if (*right)
    add(draft, NormalizerStep::StripRight);
  return {};
}

Result<void> readNormalizer(JsonValue value, Draft &draft) {
  auto type = readType(value);
  if (!type)
    return type.takeError();
  if (*type == "BertNormalizer")
    return readBertNormalizer(value, draft);
  if (*type == "Sequence")
    return readEach(value, "normalizers", [&](JsonValue element) {
      return readNormalizer(element, draft);
    });
  if (*type == "Prepend")
    return readPrepend(value, draft);
  if (*type == "Replace")
    return readReplace(value, draft);
  if (*type == "Strip")
    return readStrip(value, draft);
  if (*type == "Lowercase")
    add(draft, NormalizerStep::Lowercase);
  else if (*type == "NFC")
    add(draft, NormalizerStep::Compose);
  else if (*type == "NFD")
    add(draft, NormalizerStep::Decompose);
  else if (*type == "StripAccents")
    add(draft, NormalizerStep::RemoveMarks);
  else
    return unsupportedType(value, "normalizer", *type,
                           "BertNormalizer, Lowercase, NFC, NFD, Prepend, "
                           "Replace, Sequence, Strip, StripAccents");
  return {};
}

//===-- Truncation --------------------------------------------------------===//

Result<void> readTruncation(std::optional<JsonValue> value,
                            Parameters &parameters) {
  parameters.truncationStrategy = TruncationStrategy::LongestFirst;
  parameters.truncationSide = TruncationSide::Right;
  if (!value || value->isNull())
    return {};
  if (auto object = value->expectObject(); !object)
    return object.takeError();
  auto length = value->get("max_length");
  if (!length)
    return length.takeError();
  auto number = length->asUint();
  if (!number)
    return number.takeError();
  if (*number == 0)
    return length->error("expected a maximum length of at least 1, got 0");
  auto strategy =
      readName(*value, "strategy", {"LongestFirst", "OnlyFirst", "OnlySecond"});
  if (!strategy)
    return strategy.takeError();
  parameters.truncationLength =
      static_cast<uint32_t>(std::min<uint64_t>(*number, UINT32_MAX));
  parameters.truncationStrategy = static_cast<TruncationStrategy>(*strategy);
  if (value->find("direction")) {
    auto side = readName(*value, "direction", {"Right", "Left"});
    if (!side)
      return side.takeError();
    parameters.truncationSide = static_cast<TruncationSide>(*side);
  }
  return {};
}

} // namespace transom::tokenizer
