// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most texts have no added tokens and are not copied.
#include "runtime/tokenizer/SequenceEncoder.h"
#include "runtime/tokenizer/ByteLevel.h"
#include "runtime/tokenizer/PreTokenizer.h"
#include "runtime/tokenizer/Unicode.h"
#include <string>
#include <utility>

namespace transom::tokenizer {

bool isTrimmed(char32_t code) {
  return code == characterOfByte(' ') || unicode::isWhitespace(code);
}

SequenceEncoder::SequenceEncoder(const Tables &tables)
    : tables(tables), wordPiece(tables), bpe(tables), unigram(tables),
      wordLevel(tables), added(tables.array<AddedToken>(Section::AddedTokens)),
      rawTrie(tables.trie(Section::RawTrie)),
      normalizedTrie(tables.trie(Section::NormalizedTrie)) {}

Result<std::vector<Token>> SequenceEncoder::encode(std::string_view text) {
  tokens.clear();
  word = 0;
  Characters characters = getCharacters(text);
  encodeAll(characters);
  if (auto missing = unigram.takeMissing())
    return rejected("the character at byte " + std::to_string(*missing) +
                    " is not in the vocabulary, which has no unknown token");
  if (auto missing = wordLevel.takeMissing())
    return rejected("the word at byte " + std::to_string(*missing) +
                    " is not in the vocabulary, which has no unknown token");
  return tokens;
}

void SequenceEncoder::encodeAll(Characters &characters) {
  std::vector<Split> splits = splitAdded(rawTrie, added, characters);
  if (splits.size() == 1 && !splits[0].id)
    return encodeBetween(characters);
  Characters between;
  for (const Split &split : splits) {
    if (split.id) {
      addToken(characters, split);
      continue;
    }
    between.assign(characters.begin() + split.span.begin,
                   characters.begin() + split.span.end);
    encodeBetween(between);
  }
}

void SequenceEncoder::addToken(const Characters &text, const Split &split) {
  auto [begin, end] = split.span;
  if (begin == end)
    return;
  Token token{*split.id, text[begin].begin, text[end - 1].end, 0, 0, true};
  if (tables.parameters().flags & TrimOffsets) {
    for (size_t i = begin; i < end && isTrimmed(text[i].code); ++i)
      ++token.leadingSpaces;
    for (size_t i = end; i > begin && isTrimmed(text[i - 1].code); --i)
      ++token.trailingSpaces;
  }
  token.word = word++;
  tokens.push_back(token);
}

/// If a text begins with `>>` and contains `<<`, the part up to there becomes
/// one token, which may be the unknown token.
void SequenceEncoder::takeLanguageCode(Characters &text) {
  auto isPair = [&](size_t at, char32_t code) {
    return text[at].code == code && text[at + 1].code == code;
  };
  if (text.size() < 4 || !isPair(0, U'>'))
    return;
  size_t end = 2;
  while (end + 1 < text.size() && !isPair(end, U'<'))
    ++end;
  if (end + 1 >= text.size())
    return;
  end += 2;
  unigram.addWhole(text, {0, end}, tokens);
  text.erase(text.begin(), text.begin() + static_cast<ptrdiff_t>(end));
}

/// Encodes text between the added tokens found before normalization.
void SequenceEncoder::encodeBetween(Characters &text) {
  if (tables.parameters().flags & LanguageCodes)
    takeLanguageCode(text);
  normalize(tables.steps(Section::NormalizerSteps), text);
  std::vector<Split> splits = splitAdded(normalizedTrie, added, text);
  if (splits.size() == 1 && !splits[0].id)
    return encodeWords(text);
  Characters between;
  for (const Split &split : splits) {
    if (split.id) {
      addToken(text, split);
      continue;
    }
    between.assign(text.begin() + split.span.begin,
                   text.begin() + split.span.end);
    encodeWords(between);
  }
}

void SequenceEncoder::encodeWords(Characters &text) {
  for (Span part :
       preTokenize(tables.steps(Section::PreTokenizerSteps), text)) {
    const size_t first = tokens.size();
    switch (tables.parameters().model) {
    case ModelKind::WordPiece:
      wordPiece.tokenize(text, part, tokens);
      break;
    case ModelKind::Bpe:
      bpe.tokenize(text, part, tokens);
      break;
    case ModelKind::Unigram:
      unigram.tokenize(text, part, tokens);
      break;
    case ModelKind::WordLevel:
      wordLevel.tokenize(text, part, tokens);
      break;
    }
    for (size_t i = first; i != tokens.size(); ++i)
      tokens[i].word = word;
    ++word;
  }
}

//===-- Encoders of several threads ---------------------------------------===//

std::unique_ptr<SequenceEncoder> EncoderPool::take(const Tables &tables) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<SequenceEncoder> encoder = std::move(idle.back());
      idle.pop_back();
      return encoder;
    }
  }
  return std::make_unique<SequenceEncoder>(tables);
}

void EncoderPool::put(std::unique_ptr<SequenceEncoder> encoder) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(encoder));
}

} // namespace transom::tokenizer
