// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds tokens sequentially, as in the tokenizers library: a token that occurs
// twice replaces its first definition.
#include "compiler/import/tokenizer/AddedTokens.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "runtime/tokenizer/Normalizer.h"
#include <functional>
#include <map>
#include <set>

namespace transom::tokenizer {

namespace {
/// Adds tokens one by one.
class AddedTokens {
public:
  AddedTokens(Draft &draft, std::vector<std::string> &notes)
      : draft(draft), notes(notes),
        nextId(static_cast<uint32_t>(draft.entries.size())) {}

  Result<void> add(const AddedElement &element);
  Result<void> finish();

private:
  std::string normalizedForm(std::string_view content) const;
  Result<void> checkPatterns();
  Result<void> mergeEntries();

  /// The last definition of a token.
  struct Put {
    DraftAdded token;
    std::optional<JsonValue> value;
  };

  Draft &draft;
  std::vector<std::string> &notes;
  uint32_t nextId;
  std::map<uint32_t, Put> byId;
  std::map<std::string, uint32_t, std::less<>> idOf;
  std::set<std::string, std::less<>> special;
};
} // namespace

/// Returns `FILE:LINE:COL: 'POINTER': `, or an empty string without a location.
static std::string getPlace(const std::optional<JsonValue> &value) {
  return value ? value->where() + ": " : "";
}

static Error errorAt(const std::optional<JsonValue> &value,
                     const std::string &text) {
  return rejected(getPlace(value) + text);
}

static Result<AddedElement> readElement(JsonValue value) {
  AddedElement element;
  element.value = value;
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

Result<void> AddedTokens::add(const AddedElement &element) {
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
      return errorAt(element.value, "no id is left for it");
  }
  if (element.id && id != *element.id)
    notes.push_back(getPlace(element.value) + "added token " +
                    quoted(element.content) + " has id " + std::to_string(id) +
                    ", not " + std::to_string(*element.id) +
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
  // The displayed form is still the earlier, normalized definition.
  auto earlier = byId.find(id);
  bool keeps = !element.normalized && earlier != byId.end();
  token.shown = keeps ? earlier->second.token.shown : token.pattern;
  idOf[element.content] = id;
  if (element.special)
    special.insert(element.content);
  byId.insert_or_assign(id, Put{std::move(token), element.value});
  return {};
}

/// If tokens are equal after normalization, only the one with the smallest id
/// is found; the tokenizers library finds an arbitrary one.
Result<void> AddedTokens::checkPatterns() {
  std::map<std::pair<bool, std::string_view>, const DraftAdded *> patterns;
  for (auto &[id, put] : byId) {
    DraftAdded &token = put.token;
    if (token.pattern.empty())
      return errorAt(put.value, "nothing is left of added token " +
                                    quoted(token.content) +
                                    " when it is normalized");
    auto [place, fresh] =
        patterns.insert({{token.normalized, token.pattern}, &token});
    if (fresh)
      continue;
    token.searched = false;
    notes.push_back(getPlace(put.value) + "added token " +
                    quoted(token.content) + " is the same as " +
                    quoted(place->second->content) +
                    " when it is normalized, and is never found in text");
  }
  return {};
}

/// Merges the added tokens into the entries; the model's own tokens are
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
    // The tokenizers library counts ids and ignores gaps. A token that only has
    // a role may therefore replace another one.
    if (put->second.token.content != entry.text && !put->second.value)
      notes.push_back("added token " + quoted(put->second.token.content) +
                      " gets id " + std::to_string(entry.id) +
                      ", which is that of token " + quoted(entry.text));
    else if (put->second.token.content != entry.text)
      return errorAt(put->second.value,
                     "added token " + quoted(put->second.token.content) +
                         " gets id " + std::to_string(entry.id) +
                         ", which is that of token " + quoted(entry.text));
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

Result<void> addTokens(const std::vector<AddedElement> &elements, Draft &draft,
                       std::vector<std::string> &notes) {
  AddedTokens added(draft, notes);
  for (const AddedElement &element : elements)
    TRANSOM_TRY(added.add(element));
  return added.finish();
}

Result<std::vector<AddedElement>>
readAddedElements(std::optional<JsonValue> value) {
  std::vector<AddedElement> elements;
  if (value && !value->isNull()) {
    TRANSOM_TRY(value->expectArray());
    for (JsonValue each : value->elements()) {
      TRANSOM_ASSIGN(AddedElement element, readElement(each));
      elements.push_back(std::move(element));
    }
  }
  return elements;
}

} // namespace transom::tokenizer
