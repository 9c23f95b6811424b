// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts post-processors to two lists of items: one around a single text and
// one around a pair.
#include "compiler/import/tokenizer/Steps.h"

namespace transom::tokenizer {

static constexpr int64_t largestId = idLimit - 1;

static Result<uint32_t> readNumber(JsonValue object, std::string_view key) {
  TRANSOM_ASSIGN(auto value, object.get(key));
  TRANSOM_ASSIGN(auto number, value.asInt(0, largestId));
  return static_cast<uint32_t>(number);
}

/// Reads a text's position in a template.
static Result<void> readSequencePiece(JsonValue value, bool pair,
                                      std::vector<TemplateItem> &items) {
  TRANSOM_ASSIGN(auto typeId, readNumber(value, "type_id"));
  TRANSOM_ASSIGN(auto id, readText(value, "id"));
  if (id != "A" && id != "B")
    return value.error("unknown sequence '" + std::string(id) +
                       "'; supported: A, B");
  if (id == "B" && !pair)
    return value.error("sequence 'B' in the template of a single text");
  items.push_back(
      {id == "A" ? TemplateItemKind::SequenceA : TemplateItemKind::SequenceB, 0,
       typeId});
  return {};
}

/// Reads a special token's position in a template; it may represent several
/// ids.
static Result<void> readTokenPiece(JsonValue value, JsonValue specialTokens,
                                   std::vector<TemplateItem> &items) {
  TRANSOM_ASSIGN(auto typeId, readNumber(value, "type_id"));
  TRANSOM_ASSIGN(auto name, readText(value, "id"));
  auto token = specialTokens.find(name);
  if (!token)
    return value.error("special token '" + std::string(name) +
                       "' is not among 'special_tokens'");
  TRANSOM_ASSIGN(auto ids, token->get("ids"));
  TRANSOM_ASSIGN(auto numbers, ids.asIntArray(0, largestId));
  for (int64_t id : numbers)
    items.push_back(
        {TemplateItemKind::Token, static_cast<uint32_t>(id), typeId});
  return {};
}

static Result<void> readTemplate(JsonValue processor, std::string_view key,
                                 JsonValue specialTokens,
                                 std::vector<TemplateItem> &items) {
  TRANSOM_ASSIGN(auto list, processor.get(key));
  TRANSOM_TRY(list.expectArray());
  for (JsonValue element : list.elements()) {
    TRANSOM_TRY(element.expectObject());
    auto sequence = element.find("Sequence");
    auto token = element.find("SpecialToken");
    if (!sequence && !token)
      return element.error("expected a 'Sequence' or a 'SpecialToken'");
    TRANSOM_TRY(sequence ? readSequencePiece(*sequence, key == "pair", items)
                         : readTokenPiece(*token, specialTokens, items));
  }
  return {};
}

/// Reads the id in a BertProcessing pair [token, id].
static Result<uint32_t> readTokenId(JsonValue processor, std::string_view key) {
  TRANSOM_ASSIGN(auto value, processor.get(key));
  if (!value.isArray() || value.size() != 2)
    return value.error("expected a token and its id");
  TRANSOM_ASSIGN(auto id, value[1].asInt(0, largestId));
  return static_cast<uint32_t>(id);
}

/// Adds a text between the tokens 'cls' and 'sep'; a pair starts in the same
/// way. Returns 'sep'.
static Result<uint32_t> readBetweenTokens(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto cls, readTokenId(value, "cls"));
  auto sep = readTokenId(value, "sep");
  if (!sep)
    return sep.takeError();
  draft.single = {{TemplateItemKind::Token, cls, 0},
                  {TemplateItemKind::SequenceA, 0, 0},
                  {TemplateItemKind::Token, *sep, 0}};
  draft.pair = draft.single;
  return *sep;
}

static Result<void> readBertProcessing(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto sep, readBetweenTokens(value, draft));
  draft.pair.push_back({TemplateItemKind::SequenceB, 0, 1});
  draft.pair.push_back({TemplateItemKind::Token, sep, 1});
  return {};
}

static Result<void> readTemplates(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto specialTokens, value.get("special_tokens"));
  TRANSOM_TRY(specialTokens.expectObject());
  draft.single.clear();
  draft.pair.clear();
  TRANSOM_TRY(readTemplate(value, "single", specialTokens, draft.single));
  return readTemplate(value, "pair", specialTokens, draft.pair);
}

/// Reads whether offsets exclude spaces.
static Result<void> readTrimming(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto trim, readFlag(value, "trim_offsets"));
  TRANSOM_ASSIGN(auto prefix, readFlag(value, "add_prefix_space"));
  if (!trim)
    return {};
  if (draft.parameters.flags & TrimOffsets)
    return value.error("unsupported second post-processor that trims offsets",
                       Status::Unsupported);
  draft.parameters.flags |= TrimOffsets | (prefix ? PrefixSpace : 0);
  return {};
}

static Result<void> readRobertaProcessing(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto sep, readBetweenTokens(value, draft));
  draft.pair.push_back({TemplateItemKind::Token, sep, 0});
  draft.pair.push_back({TemplateItemKind::SequenceB, 0, 0});
  draft.pair.push_back({TemplateItemKind::Token, sep, 0});
  return readTrimming(value, draft);
}

/// Reads one processor; `templates` counts the ones that add tokens around the
/// text.
static Result<void> readProcessor(JsonValue value, unsigned &templates,
                                  Draft &draft) {
  TRANSOM_ASSIGN(auto type, readType(value));
  if (type == "Sequence")
    return readEach(value, "processors", [&](JsonValue element) {
      return readProcessor(element, templates, draft);
    });
  if (type == "ByteLevel")
    return readTrimming(value, draft);
  auto read = type == "BertProcessing"       ? readBertProcessing
              : type == "RobertaProcessing"  ? readRobertaProcessing
              : type == "TemplateProcessing" ? readTemplates
                                             : nullptr;
  if (!read)
    return unsupportedType(value, "post-processor", type,
                           "BertProcessing, ByteLevel, RobertaProcessing, "
                           "Sequence, TemplateProcessing");
  if (templates++ > 0)
    return value.error("unsupported second post-processor with a template",
                       Status::Unsupported);
  return read(value, draft);
}

Result<void> readPostProcessor(std::optional<JsonValue> value, Draft &draft) {
  draft.single = {{TemplateItemKind::SequenceA, 0, 0}};
  draft.pair = {{TemplateItemKind::SequenceA, 0, 0},
                {TemplateItemKind::SequenceB, 0, 1}};
  if (!value || value->isNull())
    return {};
  unsigned templates = 0;
  return readProcessor(*value, templates, draft);
}

} // namespace transom::tokenizer
