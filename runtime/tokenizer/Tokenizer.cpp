// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each text's tokens are truncated to the max length and inserted into the
// template.
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/ByteLevel.h"
#include "runtime/tokenizer/DecodeStream.h"
#include "runtime/tokenizer/SequenceEncoder.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>
#include <utility>

namespace transom {

using namespace tokenizer;

Result<Tokenizer> Tokenizer::open(std::string_view bytes) {
  TRANSOM_ASSIGN(Tables tables, Tables::open(bytes));
  Tokenizer tokenizer(tables);
  if (std::string_view inner = tables.section(Section::Target);
      !inner.empty()) {
    TRANSOM_ASSIGN(Tables target, Tables::open(inner));
    tokenizer.target = std::make_shared<const Tokenizer>(Tokenizer(target));
  }
  return tokenizer;
}

Tokenizer::Tokenizer(Tables tables)
    : tables(tables), pool(std::make_shared<EncoderPool>()) {}

const Tokenizer &Tokenizer::getTarget() const {
  return target ? *target : *this;
}

//===-- Languages ---------------------------------------------------------===//

std::vector<TokenizerLanguage> Tokenizer::getLanguages() const {
  std::vector<TokenizerLanguage> languages;
  auto entries = tables.array<LanguageEntry>(Section::Languages);
  for (size_t i = 0; i < entries.size(); ++i)
    languages.push_back({tables.text(entries[i].name), entries[i].id});
  return languages;
}

Result<int64_t> Tokenizer::findLanguage(std::string_view name) const {
  std::vector<std::string> names;
  std::string variant; // `en_XX` for `en`
  for (const TokenizerLanguage &language : getLanguages()) {
    if (language.name == name)
      return language.id;
    names.emplace_back(language.name);
    if (variant.empty() && !name.empty() &&
        language.name.substr(0, name.size() + 1) == std::string(name) + "_")
      variant = language.name;
  }
  if (names.empty())
    return unsupported("the tokenizer has no languages");
  const std::string near = variant.empty()
                               ? suggest(name, names)
                               : "; did you mean '" + variant + "'?";
  return usageError("unknown language '" + utf8::printable(name) + "'" + near +
                    (near.empty() ? "; " : " ") +
                    "supported: " + joinNames(names));
}

//===-- Text to tokens ----------------------------------------------------===//

static Result<void> checkText(std::string_view text) {
  if (text.size() >= UINT32_MAX)
    return limitError("a text of " + std::to_string(text.size()) +
                      " bytes; supported: less than 4 GiB");
  size_t invalid = utf8::firstInvalid(text);
  if (invalid != std::string_view::npos)
    return rejected("text is not UTF-8 at byte " + std::to_string(invalid));
  return {};
}

/// Tokenizes a text with an encoder that no other thread uses.
static Result<std::vector<Token>>
encodeText(EncoderPool &pool, const Tables &tables, std::string_view text) {
  TRANSOM_TRY(checkText(text));
  std::unique_ptr<SequenceEncoder> encoder = pool.take(tables);
  Result<std::vector<Token>> tokens = encoder->encode(text);
  pool.put(std::move(encoder));
  return tokens;
}

//===-- Truncation --------------------------------------------------------===//

static void cutTo(std::vector<Token> &tokens, size_t length,
                  TruncationSide side) {
  if (tokens.size() <= length)
    return;
  if (side == TruncationSide::Left)
    tokens.erase(tokens.begin(), tokens.end() - length);
  else
    tokens.resize(length);
}

/// Returns both lengths after truncation; the longer sequence is truncated
/// first.
static std::pair<size_t, size_t> cutLongest(size_t first, size_t second,
                                            size_t limit) {
  size_t shorter = std::min(first, second);
  size_t longer =
      shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return first > second ? std::pair(longer, shorter)
                        : std::pair(shorter, longer);
}

/// Truncates one or two sequences to `limit` tokens in total; returns the
/// removed token count.
static Result<size_t> truncate(const Parameters &parameters, size_t limit,
                               bool pair, std::vector<Token> (&sequences)[2]) {
  TruncationSide side = parameters.truncationSide;
  size_t total = sequences[0].size() + sequences[1].size();
  // Nothing to do if all tokens fit.
  if (total <= limit)
    return size_t(0);
  size_t excess = total - limit;
  // The longer sequence is shortened first.
  if (parameters.truncationStrategy == TruncationStrategy::LongestFirst ||
      limit == 0) {
    std::pair<size_t, size_t> lengths(limit, 0);
    if (pair)
      lengths = cutLongest(sequences[0].size(), sequences[1].size(), limit);
    cutTo(sequences[0], lengths.first, side);
    cutTo(sequences[1], lengths.second, side);
    return total - sequences[0].size() - sequences[1].size();
  }
  // Only the specified sequence may be shortened.
  bool second = parameters.truncationStrategy == TruncationStrategy::OnlySecond;
  std::vector<Token> &cut = sequences[second ? 1 : 0];
  if (cut.size() <= excess)
    return limitError(
        std::string("the ") + (second ? "second" : "first") + " text has " +
        std::to_string(cut.size()) + " tokens, and cutting it alone, as " +
        "tokenizer.json says, cannot bring " + std::to_string(total) +
        " tokens down to " + std::to_string(limit));
  cutTo(cut, cut.size() - excess, side);
  return excess;
}

//===-- Offsets -----------------------------------------------------------===//

/// Counts the spaces at both ends of a model token.
static void countSpaces(const Tables &tables, Token &token) {
  std::optional<VocabularyEntry> entry = tables.entry(token.id);
  if (!entry)
    return;
  const std::string_view text = tables.text(entry->text);
  token.leadingSpaces = token.trailingSpaces = 0;
  bool leads = true;
  for (size_t at = 0; at < text.size();) {
    const bool trimmed = isTrimmed(utf8::decode(text, at));
    leads &= trimmed;
    token.leadingSpaces += leads;
    token.trailingSpaces = trimmed ? token.trailingSpaces + 1 : 0;
  }
}

/// True if at least `count` characters in `text` begin before the byte `end`.
static bool hasCharacters(std::string_view text, uint32_t end, uint32_t count) {
  for (uint32_t at = 0; at < end && count > 0; ++at)
    count -= (text[at] & 0xC0) != 0x80;
  return count == 0;
}

/// Moves offsets past the tokens' spaces, character by character. If a token
/// ends in more spaces than the text has characters up to its end, the spaces
/// are not from the text and the offset stays.
static void trimOffsets(const Tables &tables, std::string_view text,
                        std::vector<Token> &tokens) {
  auto continues = [&](uint32_t at) {
    return at < text.size() && (text[at] & 0xC0) == 0x80;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token &token = tokens[i];
    if (!token.added)
      countSpaces(tables, token);
    uint32_t leading = token.leadingSpaces;
    bool first = i == 0 || token.begin == 0;
    // A single space at the start may be the added one; with several, all are
    // from the text.
    if (leading == 1 && first && tables.parameters().flags & PrefixSpace)
      leading = 0;
    for (; leading > 0 && token.begin < token.end; --leading)
      do
        ++token.begin;
      while (continues(token.begin));
    uint32_t trailing = token.trailingSpaces;
    if (!hasCharacters(text, token.end, trailing))
      trailing = 0;
    for (; trailing > 0 && token.end > token.begin; --trailing)
      do
        --token.end;
      while (continues(token.end));
  }
}

//===-- Template ----------------------------------------------------------===//

static size_t templateTokens(ArrayView<TemplateItem> items) {
  size_t count = 0;
  for (size_t i = 0; i < items.size(); ++i)
    count += isToken(items[i].kind);
  return count;
}

static void append(Encoding &encoding, int64_t id, int64_t typeId,
                   TokenOffsets offsets, uint8_t sequence, uint32_t word) {
  const uint8_t isSpecial = sequence == 2;
  encoding.ids.push_back(id);
  encoding.typeIds.push_back(typeId);
  encoding.offsets.push_back(offsets);
  encoding.specialMask.push_back(isSpecial);
  encoding.sequence.push_back(sequence);
  encoding.words.push_back(word);
}

static Encoding fillTemplate(ArrayView<TemplateItem> items,
                             const EncodeOptions &options,
                             const std::vector<Token> (&sequences)[2]) {
  Encoding encoding;
  const size_t most = items.size() + sequences[0].size() + sequences[1].size();
  encoding.ids.reserve(most);
  encoding.typeIds.reserve(most);
  encoding.offsets.reserve(most);
  encoding.specialMask.reserve(most);
  encoding.sequence.reserve(most);
  encoding.words.reserve(most);
  // Insert both sequences and, if requested, the special tokens.
  for (size_t i = 0; i < items.size(); ++i) {
    TemplateItem item = items[i];
    if (isToken(item.kind)) {
      const bool isLanguage = item.kind == TemplateItemKind::SourceLanguage;
      const int64_t id =
          isLanguage ? options.language.value_or(item.id) : item.id;
      if (options.addSpecial)
        append(encoding, id, item.typeId, {0, 0}, 2, UINT32_MAX);
      continue;
    }
    uint8_t which = item.kind == TemplateItemKind::SequenceB;
    for (const Token &token : sequences[which])
      append(encoding, token.id, item.typeId, {token.begin, token.end}, which,
             token.word);
  }
  return encoding;
}

Result<size_t> Tokenizer::cut(std::vector<Token> (&sequences)[2], bool pair,
                              const EncodeOptions &options) const {
  if (options.maxLength == 0)
    return size_t(0);
  const size_t special =
      options.addSpecial
          ? templateTokens(tables.array<TemplateItem>(
                pair ? Section::PairTemplate : Section::SingleTemplate))
          : 0;
  if (options.maxLength < special)
    return limitError("a maximum length of " +
                      std::to_string(options.maxLength) +
                      " has no room for the " + std::to_string(special) +
                      " special tokens around a text");
  return truncate(tables.parameters(), options.maxLength - special, pair,
                  sequences);
}

Result<Encoding>
Tokenizer::encodeWords(const std::vector<std::string_view> &words,
                       const EncodeOptions &options) const {
  std::vector<Token> sequences[2];
  for (size_t i = 0; i < words.size(); ++i) {
    TRANSOM_ASSIGN(std::vector<Token> tokens,
                   encodeText(*pool, tables, words[i]));
    for (Token &token : tokens) {
      token.word = uint32_t(i);
      sequences[0].push_back(token);
    }
  }
  TRANSOM_ASSIGN(const size_t truncated, cut(sequences, false, options));
  Encoding encoding = fillTemplate(
      tables.array<TemplateItem>(Section::SingleTemplate), options, sequences);
  encoding.truncatedTokens = truncated;
  return encoding;
}

Result<Encoding> Tokenizer::encode(std::string_view text,
                                   std::optional<std::string_view> pair,
                                   const EncodeOptions &options) const {
  std::vector<Token> sequences[2];
  TRANSOM_ASSIGN(sequences[0], encodeText(*pool, tables, text));
  if (pair) {
    TRANSOM_ASSIGN(sequences[1], encodeText(*pool, tables, *pair));
  }
  auto items = tables.array<TemplateItem>(pair ? Section::PairTemplate
                                               : Section::SingleTemplate);
  TRANSOM_ASSIGN(const size_t truncated,
                 cut(sequences, pair.has_value(), options));
  if (tables.parameters().flags & TrimOffsets) {
    trimOffsets(tables, text, sequences[0]);
    trimOffsets(tables, pair.value_or(""), sequences[1]);
  }
  Encoding encoding = fillTemplate(items, options, sequences);
  encoding.truncatedTokens = truncated;
  return encoding;
}

//===-- Ids to text -------------------------------------------------------===//

Result<std::string> Tokenizer::decode(const std::vector<int64_t> &ids,
                                      bool skipSpecial,
                                      bool keepsSpaces) const {
  TRANSOM_ASSIGN(DecodeStream stream,
                 DecodeStream::create(*this, skipSpecial, keepsSpaces));
  std::string text;
  for (int64_t id : ids)
    stream.feed(id, text);
  stream.flush(text);
  return text;
}

std::optional<std::string_view> Tokenizer::token(int64_t id) const {
  if (auto entry = tables.entry(id))
    return tables.text(entry->text);
  return std::nullopt;
}

bool Tokenizer::isSpecial(int64_t id) const {
  auto entry = tables.entry(id);
  return entry && entry->special;
}

std::optional<int64_t> Tokenizer::getId(std::string_view token) const {
  uint32_t id = tables.trie(Section::AddedNames).find(token);
  if (id == Trie::none)
    id = tables.trie(Section::ModelTrie).find(token);
  if (tables.parameters().model == ModelKind::Bpe && id != Trie::none)
    id &= ~wholeBit;
  return id >= tables.parameters().idEnd ? std::nullopt
                                         : std::optional<int64_t>(id);
}

size_t Tokenizer::size() const {
  return tables.array<VocabularyEntry>(Section::Vocabulary).size();
}

std::optional<size_t> Tokenizer::truncation() const {
  uint32_t length = tables.parameters().truncationLength;
  return length == 0 ? std::nullopt : std::optional<size_t>(length);
}

} // namespace transom
