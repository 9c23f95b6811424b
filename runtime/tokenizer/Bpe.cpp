// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbols form a linked list and candidates a heap; a candidate whose symbols
// have changed since is dropped when it is taken from the heap. Each merge
// removes a symbol and queues at most two candidates, so a word with n
// characters takes O(n log n). If characters are omitted, the offsets of later
// tokens move forward, since Hugging Face adds up lengths.
#include "runtime/tokenizer/Bpe.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace transom::tokenizer {

Bpe::Bpe(const Tables &tables)
    : trie(tables.trie(Section::ModelTrie)),
      prefix(tables.text(tables.parameters().continuingPrefix)),
      suffix(tables.text(tables.parameters().wordSuffix)),
      unknownId(tables.parameters().unknownId),
      idEnd(tables.parameters().idEnd), flags(tables.parameters().flags),
      probe(tables.parameters().mergeProbe),
      merges(tables.array<MergeSlot>(Section::Merges)),
      results(tables.array<uint32_t>(Section::MergeResults)),
      byteTokens(tables.array<uint32_t>(Section::ByteTokens)),
      scores(tables.array<double>(Section::Scores)) {
  continuingRoot = trie.step(Trie::root, prefix);
}

/// Replaces a space in SentencePiece tokens.
static constexpr char32_t spaceCharacter = 0x2581;

static uint32_t getBytes(char32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

uint32_t Bpe::findWord(const Characters &text, Span word) const {
  uint32_t state = Trie::root;
  for (size_t at = word.begin; at < word.end && state != Trie::none; ++at)
    state = trie.stepCode(state, text[at].code);
  return state == Trie::none ? Trie::none : trie.value(state);
}

uint32_t Bpe::wholeWord(const Characters &text, Span word) const {
  uint32_t id = findWord(text, word);
  return id == Trie::none ? id : id & ~wholeBit;
}

/// True if splitting text may produce this token.
bool Bpe::isCut(uint32_t id) const {
  return scores.size() == 0 || (id < scores.size() && !std::isnan(scores[id]));
}

void Bpe::addSymbol(uint32_t id, uint32_t bytes) {
  uint32_t index = static_cast<uint32_t>(symbols.size());
  symbols.push_back({id, index == 0 ? none : index - 1, index + 1, bytes});
}

void Bpe::flushUnknown() {
  if (unknownBytes != 0)
    addSymbol(unknownId, unknownBytes);
  unknownBytes = 0;
}

/// Adds a character that is not a token: as its byte tokens if all exist,
/// otherwise as the unknown token.
void Bpe::addUnknown(char32_t code, bool first, bool last) {
  uint32_t bytes = getBytes(code);
  if (flags & ByteFallback) {
    std::string form(first ? std::string_view() : prefix);
    utf8::append(form, code);
    if (last)
      form += suffix;
    bool known = std::all_of(form.begin(), form.end(), [&](char byte) {
      return byteTokens[static_cast<uint8_t>(byte)] != Trie::none;
    });
    if (known) {
      for (char byte : form)
        addSymbol(byteTokens[static_cast<uint8_t>(byte)], 1);
      return;
    }
  }
  if (unknownId == Trie::none)
    return;
  if (!(flags & FuseUnknown))
    flushUnknown();
  unknownBytes += bytes;
}

void Bpe::split(const Characters &text, Span word) {
  symbols.clear();
  unknownBytes = 0;
  for (size_t at = word.begin; at < word.end; ++at) {
    bool first = at == word.begin, last = at + 1 == word.end;
    uint32_t state =
        trie.stepCode(first ? Trie::root : continuingRoot, text[at].code);
    if (last)
      state = trie.step(state, suffix);
    uint32_t id = trie.value(state);
    if (id != Trie::none)
      id &= ~wholeBit;
    if (id == Trie::none || !isCut(id)) {
      addUnknown(text[at].code, first, last);
      continue;
    }
    flushUnknown();
    addSymbol(id, getBytes(text[at].code));
  }
  flushUnknown();
  if (!symbols.empty())
    symbols.back().next = none;
}

Bpe::Merge Bpe::getMerge(uint32_t left, uint32_t right) const {
  size_t count = merges.size();
  if (count == 0)
    return {};
  size_t at = mergeHome(left, right, count);
  for (uint32_t i = 0; i < probe; ++i) {
    MergeSlot slot = merges[at];
    if (slot.rank >= results.size())
      return {};
    if (slot.left == left && slot.right == right)
      return {slot.rank, results[slot.rank]};
    if (++at == count)
      at = 0;
  }
  return {};
}

void Bpe::queuePair(uint32_t left) {
  uint32_t right = symbols[left].next;
  if (right == none)
    return;
  Merge merge = getMerge(symbols[left].id, symbols[right].id);
  if (merge.rank == none)
    return;
  queue.push_back({merge.rank, left, merge.result});
  std::push_heap(queue.begin(), queue.end());
}

void Bpe::merge(const Candidate &candidate) {
  Symbol &left = symbols[candidate.left];
  if (left.bytes == 0 || left.next == none)
    return;
  Symbol &right = symbols[left.next];
  Merge now = getMerge(left.id, right.id);
  if (now.rank == none || now.result != candidate.result)
    return;
  left.id = candidate.result;
  left.bytes += right.bytes;
  right.bytes = 0;
  left.next = right.next;
  if (right.next != none)
    symbols[right.next].previous = candidate.left;
  if (left.previous != none)
    queuePair(left.previous);
  queuePair(candidate.left);
}

/// Does the same for few symbols without a heap.
void Bpe::mergeFew() {
  std::array<Merge, fewSymbols> found;
  size_t count = symbols.size();
  for (size_t i = 0; i + 1 < count; ++i)
    found[i] = getMerge(symbols[i].id, symbols[i + 1].id);
  // Apply the first learned merge among all pairs, until none applies.
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (found[i].rank < found[best].rank)
        best = i;
    if (found[best].rank == none)
      break;
    // Join both symbols, and close the gap.
    symbols[best].id = found[best].result;
    symbols[best].bytes += symbols[best + 1].bytes;
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      found[i - 1] = found[i];
    }
    // Only the pairs on both sides have changed.
    if (best > 0)
      found[best - 1] = getMerge(symbols[best - 1].id, symbols[best].id);
    if (best + 1 < count)
      found[best] = getMerge(symbols[best].id, symbols[best + 1].id);
  }
  // Link the remaining symbols for `give`.
  symbols.resize(count);
  for (size_t i = 0; i < count; ++i)
    symbols[i].next = i + 1 < count ? static_cast<uint32_t>(i + 1) : none;
}

void Bpe::mergeAll() {
  if (symbols.size() <= fewSymbols)
    return mergeFew();
  queue.clear();
  for (uint32_t i = 0; i < symbols.size(); ++i)
    queuePair(i);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end());
    Candidate candidate = queue.back();
    queue.pop_back();
    merge(candidate);
  }
}

/// Converts the symbols to parts.
void Bpe::give(const Characters &text, Span word) {
  // `at` is the character with the token's first byte; `passed` counts the
  // bytes before that character.
  size_t at = word.begin;
  uint64_t begin = 0, passed = 0;
  auto seek = [&](uint64_t byte) {
    while (at + 1 < word.end && passed + getBytes(text[at].code) <= byte)
      passed += getBytes(text[at++].code);
    return at;
  };
  for (uint32_t i = symbols.empty() ? none : 0; i != none;
       i = symbols[i].next) {
    const size_t first = seek(begin);
    const uint64_t end = begin + symbols[i].bytes;
    const size_t last = seek(end - 1);
    // Unknown characters together can form a token that splitting does not
    // produce.
    uint32_t id = symbols[i].id;
    if (id == unknownId && scores.size() != 0)
      id = wholeWord(text, {first, last + 1});
    addPart(id, first - word.begin, last - word.begin);
    begin = end;
  }
}

void Bpe::addPart(uint32_t id, size_t first, size_t last) {
  parts.push_back({id < idEnd ? id : unknownId, static_cast<uint32_t>(first),
                   static_cast<uint32_t>(last)});
}

/// Computes the parts for a word.
void Bpe::findParts(const Characters &text, Span word) {
  parts.clear();
  const uint32_t whole = findWord(text, word);
  if (whole != Trie::none && (whole & wholeBit || flags & IgnoreMerges))
    return addPart(whole & ~wholeBit, 0, word.end - word.begin - 1);
  split(text, word);
  mergeAll();
  give(text, word);
}

void Bpe::tokenizePart(const Characters &text, Span word,
                       std::vector<Token> &tokens) {
  const Character *characters = text.data() + word.begin;
  if (const WordCache::Entry *entry = cache.find(text, word)) {
    for (size_t i = 0; i < entry->count; ++i)
      tokens.push_back({entry->ids[i], characters[entry->first[i]].begin,
                        characters[entry->last[i]].end});
    return;
  }
  findParts(text, word);
  cache.put(parts);
  for (const WordPart &part : parts)
    tokens.push_back(
        {part.id, characters[part.first].begin, characters[part.last].end});
}

void Bpe::tokenize(const Characters &text, Span word,
                   std::vector<Token> &tokens) {
  if (!(flags & SeparateSpaces))
    return tokenizePart(text, word, tokens);
  for (size_t begin = word.begin; begin < word.end;) {
    size_t end = begin + 1;
    while (end < word.end && (text[end].code != spaceCharacter ||
                              text[end - 1].code == spaceCharacter))
      ++end;
    tokenizePart(text, {begin, end}, tokens);
    begin = end;
  }
}

} // namespace transom::tokenizer
