// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BPE model: options, merges by id, byte tokens. A merge is a pair of strings,
// "a b" in files before 2024; both and their concatenation are tokens.
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include <unordered_map>

namespace transom::tokenizer {

using TokenIds = std::unordered_map<std::string_view, uint32_t>;

/// Reads an optional string; null or absent means empty.
static Result<std::string_view> readOptionalText(JsonValue object,
                                                 std::string_view key) {
  auto value = object.find(key);
  if (!value || value->isNull())
    return std::string_view();
  return value->asString();
}

static Result<void> readUnknown(JsonValue model, Draft &draft) {
  draft.parameters.unknownId = Trie::none;
  auto value = model.find("unk_token");
  if (!value || value->isNull())
    return {};
  TRANSOM_ASSIGN(auto text, value->asString());
  const uint32_t *id = findToken(draft, text);
  if (!id)
    return value->error("unknown token " + quoted(text) +
                        " is not in the vocabulary");
  draft.parameters.unknownId = *id;
  return {};
}

static Result<void> readOptions(JsonValue model, Draft &draft) {
  TRANSOM_ASSIGN(auto prefix,
                 readOptionalText(model, "continuing_subword_prefix"));
  TRANSOM_ASSIGN(auto suffix, readOptionalText(model, "end_of_word_suffix"));
  draft.continuingPrefix = prefix;
  draft.wordSuffix = suffix;
  const std::pair<const char *, ModelFlag> flags[] = {
      {"fuse_unk", FuseUnknown},
      {"byte_fallback", ByteFallback},
      {"ignore_merges", IgnoreMerges}};
  for (auto &[key, bit] : flags) {
    TRANSOM_ASSIGN(auto flag, readFlag(model, key, false));
    draft.parameters.flags |= flag ? bit : 0;
  }
  auto dropout = model.find("dropout");
  if (!dropout || dropout->isNull())
    return {};
  TRANSOM_ASSIGN(auto share, dropout->asDouble());
  if (share != 0)
    return dropout->error("unsupported dropout of merges; supported: null, 0",
                          Status::Unsupported);
  return {};
}

void addByteTokens(Draft &draft) {
  static constexpr char digits[] = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string name =
        std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">";
    const uint32_t *id = findToken(draft, name);
    draft.byteTokens.push_back(id ? *id : Trie::none);
  }
}

/// Returns both parts of a merge, in either format.
static Result<std::pair<std::string_view, std::string_view>>
readParts(JsonValue value) {
  if (value.isArray()) {
    if (value.size() != 2)
      return value.error("expected a merge of two tokens, got " +
                         std::to_string(value.size()));
    TRANSOM_ASSIGN(auto left, value[0].asString());
    TRANSOM_ASSIGN(auto right, value[1].asString());
    return std::pair(left, right);
  }
  TRANSOM_ASSIGN(auto text, value.asString());
  size_t space = text.find(' ');
  if (space == std::string_view::npos ||
      text.find(' ', space + 1) != std::string_view::npos)
    return value.error("expected a merge of two tokens with a space between "
                       "them, got " +
                       quoted(text));
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

/// Adds a merge; `fail` creates an error from a message.
template <typename Fail>
static Result<void> addMerge(std::string_view left, std::string_view right,
                             const TokenIds &ids, Draft &draft, Fail fail) {
  auto missing = [&](std::string_view token) {
    return fail("token " + quoted(token) +
                " of a merge is not in the vocabulary");
  };
  auto first = ids.find(left), second = ids.find(right);
  if (first == ids.end())
    return missing(left);
  if (second == ids.end())
    return missing(right);
  size_t prefix = draft.continuingPrefix.size();
  if (right.size() < prefix)
    return fail("token " + quoted(right) +
                " of a merge is shorter than the continuing prefix");
  std::string joined(left);
  joined += right.substr(prefix);
  auto result = ids.find(joined);
  if (result == ids.end())
    return missing(joined);
  draft.merges.push_back({first->second, second->second, result->second});
  return {};
}

static Result<void> readMerge(JsonValue value, const TokenIds &ids,
                              Draft &draft) {
  TRANSOM_ASSIGN(auto parts, readParts(value));
  return addMerge(parts.first, parts.second, ids, draft,
                  [&](const std::string &text) { return value.error(text); });
}

Result<void> readMergeLines(std::string_view text, const std::string &name,
                            Draft &draft) {
  TokenIds ids(draft.modelTokens.begin(), draft.modelTokens.end());
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.substr(0, 8) == "#version")
      continue;
    auto fail = [&](const std::string &message) {
      return rejected(name + ":" + std::to_string(number) + ": " + message);
    };
    const size_t space = line.find(' ');
    if (space == std::string_view::npos ||
        line.find(' ', space + 1) != std::string_view::npos)
      return fail("expected a merge of two tokens with a space between them, "
                  "got " +
                  quoted(line));
    TRANSOM_TRY(addMerge(line.substr(0, space), line.substr(space + 1), ids,
                         draft, fail));
  }
  return {};
}

static bool isVersionLine(JsonValue value) {
  return value.isString() && value.asString()->substr(0, 8) == "#version";
}

Result<void> readBpe(JsonValue model, Draft &draft) {
  draft.parameters.model = ModelKind::Bpe;
  TRANSOM_ASSIGN(auto vocabulary, model.get("vocab"));
  TRANSOM_TRY(readTokens(vocabulary, draft));
  TRANSOM_TRY(readUnknown(model, draft));
  TRANSOM_TRY(readOptions(model, draft));
  if (draft.parameters.flags & ByteFallback)
    addByteTokens(draft);
  return readMerges(model, draft);
}

Result<void> readMerges(JsonValue model, Draft &draft) {
  TokenIds ids(draft.modelTokens.begin(), draft.modelTokens.end());
  return readEach(model, "merges", [&](JsonValue value) -> Result<void> {
    return isVersionLine(value) ? Result<void>() : readMerge(value, ids, draft);
  });
}

} // namespace transom::tokenizer
