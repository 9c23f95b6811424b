// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening checks the small sections: the directory, the parameters and the
// lists of steps and template items. Tries and vocabulary are checked on
// access.
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/PreTokenizer.h"
#include "runtime/tokenizer/Splitter.h"
#include <string>

namespace transom::tokenizer {

uint32_t Trie::stepLong(uint32_t state, char32_t code) const {
  auto continuation = [code](unsigned shift) {
    return static_cast<uint8_t>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x800) {
    state = step(state, static_cast<uint8_t>(0xC0 | (code >> 6)));
  } else {
    if (code < 0x10000) {
      state = step(state, static_cast<uint8_t>(0xE0 | (code >> 12)));
    } else {
      state = step(state, static_cast<uint8_t>(0xF0 | (code >> 18)));
      state = step(state, continuation(12));
    }
    state = step(state, continuation(6));
  }
  return step(state, continuation(0));
}

static Error bad(const std::string &what) {
  return rejected("tokenizer tables: " + what);
}

/// Returns the element size of a section in bytes.
static size_t elementSize(Section section) {
  // Sections with records.
  switch (section) {
  case Section::Parameters:
    return sizeof(Parameters);
  case Section::SingleTemplate:
  case Section::PairTemplate:
    return sizeof(TemplateItem);
  case Section::Vocabulary:
    return sizeof(VocabularyEntry);
  case Section::ModelTrie:
  case Section::AddedNames:
  case Section::RawTrie:
  case Section::NormalizedTrie:
    return sizeof(TrieUnit);
  case Section::AddedTokens:
    return sizeof(AddedToken);
  case Section::NormalizerSteps:
  case Section::PreTokenizerSteps:
  case Section::DecoderSteps:
    return sizeof(Step);
  case Section::Merges:
    return sizeof(MergeSlot);
  // Sections with plain values or bytes.
  case Section::MergeResults:
  case Section::ByteTokens:
  case Section::Shortlist:
    return sizeof(uint32_t);
  case Section::Scores:
    return sizeof(double);
  case Section::Languages:
    return sizeof(LanguageEntry);
  case Section::Text:
  case Section::Target:
    return 1;
  }
  return 1;
}

std::optional<VocabularyEntry> Tables::entry(int64_t id) const {
  auto entries = array<VocabularyEntry>(Section::Vocabulary);
  if (id < 0 || id >= idLimit)
    return std::nullopt;
  // If no id is missing, an entry's index is its id.
  size_t low = 0, high = entries.size();
  if (static_cast<size_t>(id) < high && entries[id].id == id)
    return entries[id];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    VocabularyEntry entry = entries[middle];
    if (entry.id == id)
      return entry;
    if (entry.id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

Result<void> Tables::readDirectory(std::string_view bytes) {
  constexpr size_t directoryEnd =
      sizeof(TablesHeader) + sectionCount * sizeof(SectionEntry);
  // Check the header.
  TablesHeader header;
  if (bytes.size() < directoryEnd)
    return bad("cut short: " + std::to_string(bytes.size()) +
               " bytes, expected at least " + std::to_string(directoryEnd));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, tablesMagic, sizeof tablesMagic) != 0)
    return bad("do not start with 'trnsmtok'");
  if (header.version != tablesVersion || header.sections != sectionCount)
    return bad("version " + std::to_string(header.version) + " with " +
               std::to_string(header.sections) +
               " sections; supported: " + std::to_string(tablesVersion) +
               " with " + std::to_string(sectionCount));
  if (header.size != bytes.size())
    return bad("say that they have " + std::to_string(header.size) +
               " bytes, got " + std::to_string(bytes.size()));
  // Each section is inside the blob and holds complete elements.
  ArrayView<SectionEntry> entries(
      bytes.substr(sizeof header, sectionCount * sizeof(SectionEntry)));
  for (size_t i = 0; i < sectionCount; ++i) {
    SectionEntry entry = entries[i];
    if (entry.offset % 8 != 0 || entry.offset > bytes.size() ||
        entry.size > bytes.size() - entry.offset ||
        entry.size % elementSize(static_cast<Section>(i)) != 0)
      return bad("section " + std::to_string(i) + " of " +
                 std::to_string(entry.size) + " bytes at offset " +
                 std::to_string(entry.offset) +
                 " does not fit its elements or the blob");
    sections[i] = bytes.substr(entry.offset, entry.size);
  }
  return {};
}

static bool validTemplate(ArrayView<TemplateItem> items, bool pair) {
  for (size_t i = 0; i < items.size(); ++i) {
    TemplateItem item = items[i];
    bool known = item.kind == TemplateItemKind::SequenceA ||
                 (item.kind == TemplateItemKind::SequenceB && pair) ||
                 (isToken(item.kind) && item.id < idLimit);
    if (!known || item.typeId >= idLimit)
      return false;
  }
  return true;
}

/// Checks that kinds are known, strings are inside the pool, and programs can
/// be opened.
static bool validSteps(StepList list, uint32_t end, bool (*hasProgram)(Step)) {
  for (size_t i = 0; i < list.steps.size(); ++i) {
    Step step = list.steps[i];
    if (step.kind == 0 || step.kind >= end ||
        list.text(step.first).size() != step.first.length ||
        list.text(step.second).size() != step.second.length)
      return false;
    if (hasProgram(step) && !Splitter::open(list.text(step.first)))
      return false;
  }
  return true;
}

static bool decoderHasProgram(Step step) {
  return step.kind == static_cast<uint32_t>(DecoderStep::Replace) &&
         step.option != 0;
}

template <typename Enum> static bool inRange(Enum value, Enum last) {
  return static_cast<uint32_t>(value) >= 1 && value <= last;
}

Result<void> Tables::checkContents() const {
  if (!inRange(params.model, ModelKind::WordLevel))
    return bad("unknown model kind " +
               std::to_string(static_cast<uint32_t>(params.model)));
  // Check parameters.
  bool unknownIsToken =
      params.unknownId < params.idEnd ||
      (params.model != ModelKind::WordPiece && params.unknownId == Trie::none);
  if (!inRange(params.truncationStrategy, TruncationStrategy::OnlySecond) ||
      !inRange(params.truncationSide, TruncationSide::Left) ||
      params.idEnd > idLimit || !unknownIsToken)
    return bad("a parameter is out of its range");
  // Check step lists and templates.
  if (!validSteps(steps(Section::NormalizerSteps), normalizerStepEnd,
                  normalizerHasProgram) ||
      !validSteps(steps(Section::PreTokenizerSteps), preTokenizerStepEnd,
                  preTokenizerHasProgram) ||
      !validSteps(steps(Section::DecoderSteps),
                  static_cast<uint32_t>(DecoderStep::Unsupported) + 1,
                  decoderHasProgram))
    return bad("malformed step of the normalizer, pre-tokenizer or decoder");
  if (!validTemplate(array<TemplateItem>(Section::SingleTemplate), false) ||
      !validTemplate(array<TemplateItem>(Section::PairTemplate), true))
    return bad("malformed template");
  // Check the model's own sections.
  const bool hasBytes =
      params.model == ModelKind::Bpe || params.model == ModelKind::Unigram;
  if (hasBytes && array<uint32_t>(Section::ByteTokens).size() !=
                      (params.flags & ByteFallback ? 256u : 0u))
    return bad("malformed tokens of bytes");
  if (params.model == ModelKind::Unigram &&
      array<double>(Section::Scores).size() == 0)
    return bad("no scores");
  return {};
}

Result<Tables> Tables::open(std::string_view bytes) {
  Tables tables;
  TRANSOM_TRY(tables.readDirectory(bytes));
  auto parameters = tables.array<Parameters>(Section::Parameters);
  if (parameters.size() != 1)
    return bad("expected one set of parameters, got " +
               std::to_string(parameters.size()));
  tables.params = parameters[0];
  TRANSOM_TRY(tables.checkContents());
  return tables;
}

} // namespace transom::tokenizer
