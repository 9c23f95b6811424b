// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates sections in memory one by one and appends them to the directory.
#include "compiler/import/tokenizer/TablesWriter.h"
#include "compiler/import/tokenizer/TrieBuilder.h"
#include "runtime/tokenizer/Bpe.h"
#include "runtime/tokenizer/Normalizer.h"
#include <algorithm>

namespace transom::tokenizer {

template <typename T>
static std::string getBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

static std::string getTrie(std::vector<TrieKey> keys) {
  std::sort(keys.begin(), keys.end());
  return getBytes(buildTrie(keys));
}

/// One more than the largest id that encoding can return.
static uint32_t getIdEnd(const Draft &draft) {
  uint32_t end = draft.entries.empty() ? 0 : draft.entries.back().id + 1;
  for (auto *items : {&draft.single, &draft.pair})
    for (const TemplateItem &item : *items)
      if (isToken(item.kind))
        end = std::max(end, item.id + 1);
  for (const DraftLanguage &language : draft.languages)
    end = std::max(end, language.id + 1);
  return end;
}

/// Returns true if the BPE tokens and offsets before a space, U+2581, do not
/// depend on the following text.
static bool hasSeparateSpaces(const Draft &draft) {
  static constexpr std::string_view space = "\u2581";
  const bool dropsNothing =
      draft.parameters.unknownId != Trie::none ||
      ((draft.parameters.flags & ByteFallback) &&
       std::find(draft.byteTokens.begin(), draft.byteTokens.end(),
                 Trie::none) == draft.byteTokens.end());
  if (draft.parameters.model != ModelKind::Bpe || !dropsNothing ||
      !draft.continuingPrefix.empty() || !draft.wordSuffix.empty() ||
      (draft.parameters.flags & IgnoreMerges))
    return false;
  bool hasSpace = false;
  for (auto &[text, id] : draft.modelTokens) {
    hasSpace |= text == space;
    for (size_t at = text.find(space, 1); at != std::string_view::npos;
         at = text.find(space, at + 1))
      if (at < space.size() ||
          text.substr(at - space.size(), space.size()) != space)
        return false;
  }
  return hasSpace;
}

namespace {
class Writer {
public:
  explicit Writer(Draft &draft) : draft(draft) {}

  Result<std::string> run() {
    at(Section::Text) = draft.stepTexts; // first, so that its offsets remain
                                         // valid
    at(Section::NormalizerSteps) = getBytes(draft.normalizerSteps);
    at(Section::PreTokenizerSteps) = getBytes(draft.preTokenizerSteps);
    at(Section::DecoderSteps) = getBytes(draft.decoderSteps);
    at(Section::ByteTokens) = getBytes(draft.byteTokens);
    at(Section::Scores) = getBytes(draft.scores);
    at(Section::SingleTemplate) = getBytes(draft.single);
    at(Section::PairTemplate) = getBytes(draft.pair);
    at(Section::ModelTrie) = getTrie(draft.modelTokens);
    addVocabulary();
    addAddedTokens();
    addLanguages();
    at(Section::Target) = draft.target;
    TRANSOM_TRY(addMerges());
    addParameters();
    return join();
  }

private:
  static constexpr uint32_t probeLimit = 2048;

  std::string &at(Section section) {
    return sections[static_cast<size_t>(section)];
  }

  TextRef addText(std::string_view text) {
    std::string &pool = at(Section::Text);
    TextRef ref{static_cast<uint32_t>(pool.size()),
                static_cast<uint32_t>(text.size())};
    pool += text;
    return ref;
  }

  void addVocabulary() {
    std::vector<VocabularyEntry> entries;
    entries.reserve(draft.entries.size());
    for (const DraftEntry &entry : draft.entries)
      entries.push_back({entry.id, addText(entry.text), entry.special});
    at(Section::Vocabulary) = getBytes(entries);
  }

  void addAddedTokens() {
    std::vector<AddedToken> tokens;
    std::vector<TrieKey> names, raw, normalized;
    for (const DraftAdded &added : draft.added) {
      uint32_t index = static_cast<uint32_t>(tokens.size());
      tokens.push_back({added.id, added.flags});
      names.push_back({added.content, added.id});
      if (added.searched)
        (added.normalized ? normalized : raw).push_back({added.pattern, index});
    }
    at(Section::AddedTokens) = getBytes(tokens);
    at(Section::AddedNames) = getTrie(std::move(names));
    at(Section::RawTrie) = getTrie(std::move(raw));
    at(Section::NormalizedTrie) = getTrie(std::move(normalized));
  }

  void addLanguages() {
    std::vector<LanguageEntry> languages;
    for (const DraftLanguage &language : draft.languages)
      languages.push_back({language.id, addText(language.name)});
    at(Section::Languages) = getBytes(languages);
  }

  /// Half of the slots are used; for random ids, runs of used slots are far
  /// shorter than `probeLimit`.
  Result<void> addMerges() {
    std::vector<MergeSlot> slots(2 * draft.merges.size(), {0, 0, Trie::none});
    std::vector<uint32_t> results;
    for (const DraftMerge &merge : draft.merges) {
      if (!merge.sameRank)
        results.push_back(merge.result);
      uint32_t rank = static_cast<uint32_t>(results.size() - 1);
      putMerge(slots, {merge.left, merge.right, rank});
      if (draft.parameters.mergeProbe > probeLimit)
        return rejected("tokenizer tables with more than " +
                        std::to_string(probeLimit) +
                        " merges in one run of slots");
    }
    at(Section::Merges) = getBytes(slots);
    at(Section::MergeResults) = getBytes(results);
    return {};
  }

  /// A pair that occurs again has its last rank.
  void putMerge(std::vector<MergeSlot> &slots, MergeSlot merge) {
    size_t place = mergeHome(merge.left, merge.right, slots.size());
    uint32_t probe = 1;
    auto taken = [&] {
      const MergeSlot &slot = slots[place];
      return slot.rank != Trie::none &&
             (slot.left != merge.left || slot.right != merge.right);
    };
    for (; taken(); ++probe)
      place = place + 1 == slots.size() ? 0 : place + 1;
    slots[place] = merge;
    draft.parameters.mergeProbe = std::max(draft.parameters.mergeProbe, probe);
  }

  void addParameters() {
    draft.parameters.idEnd = getIdEnd(draft);
    if (hasSeparateSpaces(draft))
      draft.parameters.flags |= SeparateSpaces;
    draft.parameters.continuingPrefix = addText(draft.continuingPrefix);
    draft.parameters.wordSuffix = addText(draft.wordSuffix);
    at(Section::Parameters) =
        getBytes(std::vector<Parameters>{draft.parameters});
  }

  Result<std::string> join() {
    TablesHeader header{{}, tablesVersion, sectionCount, 0};
    std::copy_n(tablesMagic, sizeof tablesMagic, header.magic);
    std::vector<SectionEntry> directory;
    uint64_t offset = sizeof header + sectionCount * sizeof(SectionEntry);
    for (const std::string &section : sections) {
      directory.push_back({offset, section.size()});
      offset = (offset + section.size() + 7) / 8 * 8;
    }
    if (offset > UINT32_MAX)
      return limitError("tokenizer tables of " + std::to_string(offset) +
                        " bytes; supported: less than 4 GiB");
    header.size = offset;
    std::string blob(reinterpret_cast<const char *>(&header), sizeof header);
    blob += getBytes(directory);
    for (size_t i = 0; i < sectionCount; ++i) {
      blob.resize(directory[i].offset);
      blob += sections[i];
    }
    blob.resize(offset);
    return blob;
  }

  Draft &draft;
  std::string sections[sectionCount];
};
} // namespace

/// Marks tokens that BPE with these tables returns for their own string.
static Result<void> markWhole(const Draft &draft, std::string &blob) {
  TRANSOM_ASSIGN(Tables tables, Tables::open(blob));
  Bpe bpe(tables);
  const Trie trie = tables.trie(Section::ModelTrie);
  const size_t start = static_cast<size_t>(
      tables.section(Section::ModelTrie).data() - blob.data());
  std::vector<uint32_t> marked;
  std::vector<Token> tokens;
  for (auto &[text, id] : draft.modelTokens) {
    const Characters characters = getCharacters(text);
    tokens.clear();
    if (!characters.empty())
      bpe.tokenize(characters, {0, characters.size()}, tokens);
    if (tokens.size() == 1 && tokens[0].id == id && id + 1 < idLimit)
      marked.push_back(trie.findUnit(text));
  }
  // After the tables are written, since the model reads them.
  for (uint32_t unit : marked) {
    const size_t place = start + size_t(unit) * sizeof(TrieUnit);
    TrieUnit value;
    std::memcpy(&value, blob.data() + place, sizeof value);
    value.base |= wholeBit;
    std::memcpy(blob.data() + place, &value, sizeof value);
  }
  return {};
}

Result<std::string> writeTables(Draft &draft) {
  TRANSOM_ASSIGN(std::string blob, Writer(draft).run());
  if (draft.parameters.model == ModelKind::Bpe)
    TRANSOM_TRY(markWhole(draft, blob));
  return blob;
}

} // namespace transom::tokenizer
