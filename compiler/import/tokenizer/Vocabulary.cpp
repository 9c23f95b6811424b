// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Added tokens are put one after the other, as the tokenizers library does when
// it loads a file: a token that comes twice replaces its first definition.
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/Steps.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Normalizer.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace transom::tokenizer {

//===-- The model's vocabulary --------------------------------------------===//

std::string quoted(std::string_view text) {
  return "'" + utf8::printable(text) + "'";
}

Result<void> readTokens(JsonValue vocabulary, Draft &draft) {
  TRANSOM_TRY(vocabulary.expectObject());
  draft.entries.reserve(vocabulary.size());
  draft.modelTokens.reserve(vocabulary.size());
  for (auto member : vocabulary.members()) {
    TRANSOM_ASSIGN(auto id, member.value.asInt(0, idLimit - 1));
    uint32_t number = static_cast<uint32_t>(id);
    draft.entries.push_back({number, std::string(member.key), false});
    draft.modelTokens.push_back({member.key, number});
  }
  std::sort(draft.entries.begin(), draft.entries.end(),
            [](const DraftEntry &a, const DraftEntry &b) {
              return std::tie(a.id, a.text) < std::tie(b.id, b.text);
            });
  std::sort(draft.modelTokens.begin(), draft.modelTokens.end());
  for (size_t i = 1; i < draft.entries.size(); ++i)
    if (draft.entries[i].id == draft.entries[i - 1].id)
      return vocabulary.find(draft.entries[i].text)
          ->error("id " + std::to_string(draft.entries[i].id) +
                  " is that of token " + quoted(draft.entries[i - 1].text) +
                  " too");
  return {};
}

const uint32_t *findToken(const Draft &draft, std::string_view text) {
  auto found =
      std::lower_bound(draft.modelTokens.begin(), draft.modelTokens.end(), text,
                       [](const auto &token, std::string_view text) {
                         return token.first < text;
                       });
  if (found == draft.modelTokens.end() || found->first != text)
    return nullptr;
  return &found->second;
}

/// A model without `type`, as old files have it, is told by its keys.
static Result<std::string_view> readModelType(JsonValue model) {
  TRANSOM_TRY(model.expectObject());
  if (!model.find("type") && model.find("max_input_chars_per_word"))
    return std::string_view("WordPiece");
  if (!model.find("type") && model.find("merges"))
    return std::string_view("BPE");
  if (!model.find("type") && model.find("unk_id"))
    return std::string_view("Unigram");
  return readType(model);
}

static Result<void> readWordPiece(JsonValue model, Draft &draft) {
  TRANSOM_ASSIGN(auto limit, model.get("max_input_chars_per_word"));
  TRANSOM_ASSIGN(auto characters, limit.asUint());
  TRANSOM_ASSIGN(auto prefixValue, model.get("continuing_subword_prefix"));
  TRANSOM_ASSIGN(auto prefix, prefixValue.asString());
  TRANSOM_ASSIGN(auto unknownValue, model.get("unk_token"));
  TRANSOM_ASSIGN(auto unknown, unknownValue.asString());
  TRANSOM_ASSIGN(auto vocabulary, model.get("vocab"));
  TRANSOM_TRY(readTokens(vocabulary, draft));
  const uint32_t *unknownId = findToken(draft, unknown);
  if (!unknownId)
    return unknownValue.error("unknown token " + quoted(unknown) +
                              " is not in the vocabulary");
  draft.continuingPrefix = prefix;
  draft.parameters.model = ModelKind::WordPiece;
  draft.parameters.unknownId = *unknownId;
  draft.parameters.maxWordCharacters =
      static_cast<uint32_t>(std::min<uint64_t>(characters, UINT32_MAX));
  return {};
}

Result<void> readModel(JsonValue model, Draft &draft) {
  TRANSOM_ASSIGN(auto type, readModelType(model));
  if (type == "WordPiece")
    return readWordPiece(model, draft);
  if (type == "BPE")
    return readBpe(model, draft);
  if (type == "Unigram")
    return readUnigram(model, draft);
  return unsupportedType(model, "tokenizer model", type,
                         "BPE, Unigram, WordPiece");
}

//===-- Added tokens ------------------------------------------------------===//

namespace {
/// An element of `added_tokens`.
struct AddedElement {
  JsonValue value;
  uint32_t id;
  std::string_view content;
  bool special, singleWord, leftStrip, rightStrip, normalized;
};

/// Puts added tokens one by one.
class AddedTokens {
public:
  AddedTokens(Draft &draft, std::vector<std::string> &notes)
      : draft(draft), notes(notes),
        nextId(static_cast<uint32_t>(draft.entries.size())) {}

  Result<void> add(JsonValue value);
  Result<void> finish();

private:
  Result<AddedElement> read(JsonValue value) const;
  std::string normalizedForm(std::string_view content) const;
  Result<void> checkPatterns();
  Result<void> mergeEntries();

  /// A token as it was put last.
  struct Put {
    DraftAdded token;
    JsonValue value;
  };

  Draft &draft;
  std::vector<std::string> &notes;
  uint32_t nextId;
  std::map<uint32_t, Put> byId;
  std::map<std::string_view, uint32_t> idOf;
  std::set<std::string_view> special;
};
} // namespace

Result<AddedElement> AddedTokens::read(JsonValue value) const {
  AddedElement element{value, 0, {}, false, false, false, false, false};
  TRANSOM_TRY(value.expectObject());
  TRANSOM_ASSIGN(auto id, value.get("id"));
  TRANSOM_ASSIGN(auto number, id.asInt(0, idLimit - 1));
  element.id = static_cast<uint32_t>(number);
  TRANSOM_ASSIGN(auto content, value.get("content"));
  TRANSOM_ASSIGN(auto text, content.asString());
  element.content = text;
  const std::pair<const char *, bool *> flags[] = {
      {"special", &element.special},
      {"single_word", &element.singleWord},
      {"lstrip", &element.leftStrip},
      {"rstrip", &element.rightStrip},
      {"normalized", &element.normalized}};
  for (auto &[key, target] : flags) {
    TRANSOM_ASSIGN(auto flag, value.get(key));
    TRANSOM_ASSIGN(auto set, flag.asBool());
    *target = set;
  }
  return element;
}

std::string AddedTokens::normalizedForm(std::string_view content) const {
  Characters characters = getCharacters(content);
  std::string_view steps(
      reinterpret_cast<const char *>(draft.normalizerSteps.data()),
      draft.normalizerSteps.size() * sizeof(Step));
  normalize({ArrayView<Step>(steps), draft.stepTexts}, characters);
  return toUtf8(characters);
}

Result<void> AddedTokens::add(JsonValue value) {
  TRANSOM_ASSIGN(auto element, read(value));
  if (element.content.empty())
    return {};
  uint32_t id;
  if (auto known = idOf.find(element.content); known != idOf.end()) {
    id = known->second;
  } else if (const uint32_t *inModel = findToken(draft, element.content)) {
    id = *inModel;
  } else {
    id = nextId++;
    if (id >= idLimit)
      return value.error("no id is left for it");
  }
  if (id != element.id)
    notes.push_back(value.where() + ": added token " + quoted(element.content) +
                    " has id " + std::to_string(id) + ", not " +
                    std::to_string(element.id) +
                    ", as the tokenizers library counts");
  DraftAdded token;
  token.id = id;
  token.flags = (element.singleWord ? SingleWord : 0) |
                (element.leftStrip ? LeftStrip : 0) |
                (element.rightStrip ? RightStrip : 0);
  token.normalized = element.normalized;
  token.content = element.content;
  token.pattern = element.normalized ? normalizedForm(element.content)
                                     : std::string(element.content);
  // The form of an earlier, normalized definition stays the one shown.
  auto earlier = byId.find(id);
  bool keeps = !element.normalized && earlier != byId.end();
  token.shown = keeps ? earlier->second.token.shown : token.pattern;
  idOf[element.content] = id;
  if (element.special)
    special.insert(element.content);
  byId.insert_or_assign(id, Put{std::move(token), value});
  return {};
}

/// Of tokens that are the same when they are normalized, only the one with the
/// smallest id is found; the tokenizers library finds any one of them.
Result<void> AddedTokens::checkPatterns() {
  std::map<std::pair<bool, std::string_view>, const DraftAdded *> patterns;
  for (auto &[id, put] : byId) {
    DraftAdded &token = put.token;
    if (token.pattern.empty())
      return put.value.error("nothing is left of added token " +
                             quoted(token.content) + " when it is normalized");
    auto [place, fresh] =
        patterns.insert({{token.normalized, token.pattern}, &token});
    if (fresh)
      continue;
    token.searched = false;
    notes.push_back(put.value.where() + ": added token " +
                    quoted(token.content) + " is the same as " +
                    quoted(place->second->content) +
                    " when it is normalized, and is never found in text");
  }
  return {};
}

/// Puts the added tokens among the entries; the model's own tokens are
/// replaced by their added form.
Result<void> AddedTokens::mergeEntries() {
  std::vector<DraftEntry> merged;
  auto put = byId.begin();
  auto takePut = [&] {
    const DraftAdded &token = put->second.token;
    draft.added.push_back(token);
    merged.push_back({token.id, token.shown, special.count(token.shown) != 0});
    ++put;
  };

  // Both lists are sorted by id: take the smaller id each time.
  for (DraftEntry &entry : draft.entries) {
    while (put != byId.end() && put->first < entry.id)
      takePut();
    if (put == byId.end() || put->first != entry.id) {
      merged.push_back(std::move(entry));
      continue;
    }
    if (put->second.token.content != entry.text)
      return put->second.value.error(
          "added token " + quoted(put->second.token.content) + " gets id " +
          std::to_string(entry.id) + ", which is that of token " +
          quoted(entry.text));
    takePut();
  }
  while (put != byId.end())
    takePut();
  draft.entries = std::move(merged);
  return {};
}

Result<void> AddedTokens::finish() {
  TRANSOM_TRY(checkPatterns());
  return mergeEntries();
}

Result<void> readAddedTokens(std::optional<JsonValue> value, Draft &draft,
                             std::vector<std::string> &notes) {
  AddedTokens added(draft, notes);
  if (value && !value->isNull()) {
    TRANSOM_TRY(value->expectArray());
    for (JsonValue element : value->elements())
      TRANSOM_TRY(added.add(element));
  }
  return added.finish();
}

} // namespace transom::tokenizer
