// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizers, pre-tokenizers, decoder and truncation. A BertNormalizer or a
// Sequence is flattened into the steps it is made of.
#include "compiler/import/tokenizer/Steps.h"
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/PreTokenizer.h"
#include <algorithm>

namespace transom::tokenizer {

Result<std::string_view> readType(JsonValue value) {
  if (auto object = value.expectObject(); !object)
    return object.takeError();
  auto type = value.get("type");
  if (!type)
    return type.takeError();
  return type->asString();
}

Error unsupportedType(JsonValue value, const std::string &what,
                      std::string_view name, const std::string &supported) {
  return value.error("unsupported " + what + " '" + std::string(name) +
                         "'; supported: " + supported,
                     Status::Unsupported);
}

static void add(std::string &steps, NormalizerStep step) {
  steps += static_cast<char>(step);
}

static void add(std::string &steps, PreTokenizerStep step) {
  steps += static_cast<char>(step);
}

static Result<bool> readFlag(JsonValue object, std::string_view key) {
  auto value = object.get(key);
  if (!value)
    return value.takeError();
  return value->asBool();
}

static Result<void> readBertNormalizer(JsonValue value, std::string &steps) {
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
    add(steps, NormalizerStep::CleanText);
  if (*chinese)
    add(steps, NormalizerStep::SpaceChinese);
  if (stripAccents) {
    add(steps, NormalizerStep::Decompose);
    add(steps, NormalizerStep::RemoveNonspacing);
  }
  if (*lowercase)
    add(steps, NormalizerStep::Lowercase);
  return {};
}

/// Reads each element of the array `key` of a Sequence.
template <typename Read>
static Result<void> readSequence(JsonValue value, std::string_view key,
                                 std::string &steps, Read read) {
  auto list = value.get(key);
  if (!list)
    return list.takeError();
  if (auto array = list->expectArray(); !array)
    return array.takeError();
  for (JsonValue element : list->elements())
    if (auto done = read(element, steps); !done)
      return done.takeError();
  return {};
}

Result<void> readNormalizer(JsonValue value, std::string &steps) {
  auto type = readType(value);
  if (!type)
    return type.takeError();
  if (*type == "BertNormalizer")
    return readBertNormalizer(value, steps);
  if (*type == "Sequence")
    return readSequence(value, "normalizers", steps, readNormalizer);
  if (*type == "Lowercase")
    add(steps, NormalizerStep::Lowercase);
  else if (*type == "NFD")
    add(steps, NormalizerStep::Decompose);
  else if (*type == "StripAccents")
    add(steps, NormalizerStep::RemoveMarks);
  else
    return unsupportedType(
        value, "normalizer", *type,
        "BertNormalizer, Lowercase, NFD, Sequence, StripAccents");
  return {};
}

Result<void> readPreTokenizer(JsonValue value, std::string &steps) {
  auto type = readType(value);
  if (!type)
    return type.takeError();
  if (*type == "Sequence")
    return readSequence(value, "pretokenizers", steps, readPreTokenizer);
  if (*type == "BertPreTokenizer") {
    add(steps, PreTokenizerStep::SplitWhitespace);
    add(steps, PreTokenizerStep::IsolatePunctuation);
  } else if (*type == "WhitespaceSplit") {
    add(steps, PreTokenizerStep::SplitWhitespace);
  } else if (*type == "Whitespace") {
    add(steps, PreTokenizerStep::WordsAndSymbols);
  } else {
    return unsupportedType(
        value, "pre-tokenizer", *type,
        "BertPreTokenizer, Sequence, Whitespace, WhitespaceSplit");
  }
  return {};
}

Result<void> readDecoder(std::optional<JsonValue> value, Draft &draft) {
  Parameters &parameters = draft.parameters;
  parameters.decoder = DecoderKind::JoinWithSpaces;
  if (!value || value->isNull())
    return {};
  auto type = readType(*value);
  if (!type)
    return type.takeError();
  if (*type != "WordPiece") {
    parameters.decoder = DecoderKind::Unsupported;
    draft.decoderText = *type;
    return {};
  }
  auto cleanup = readFlag(*value, "cleanup");
  if (!cleanup)
    return cleanup.takeError();
  auto prefix = value->get("prefix");
  if (!prefix)
    return prefix.takeError();
  auto text = prefix->asString();
  if (!text)
    return text.takeError();
  parameters.decoder = DecoderKind::WordPiece;
  parameters.decoderCleanup = *cleanup;
  draft.decoderText = *text;
  return {};
}

/// The index, from 1, of the string member `key` among `names`.
static Result<uint32_t> readName(JsonValue object, std::string_view key,
                                 std::initializer_list<const char *> names) {
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
