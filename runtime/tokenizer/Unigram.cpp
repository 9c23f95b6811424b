// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Viterbi search: the best path to each position is known when the tokens that
// start there are tried. Sums are accumulated from the left in double
// precision, and the first of equal paths wins, as in Hugging Face.
#include "runtime/tokenizer/Unigram.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <cmath>

namespace transom::tokenizer {

/// The last score is the unknown character's.
Unigram::Unigram(const Tables &tables)
    : trie(tables.trie(Section::ModelTrie)),
      scores(tables.array<double>(Section::Scores)),
      byteTokens(tables.array<uint32_t>(Section::ByteTokens)),
      unknownScore(scores.size() == 0 ? 0 : scores[scores.size() - 1]),
      unknownId(tables.parameters().unknownId),
      idEnd(tables.parameters().idEnd), flags(tables.parameters().flags) {}

/// Adds the token with `length` characters at `at` if it improves the best path
/// to its end; ties keep the earlier path.
bool Unigram::extend(size_t at, size_t length, uint32_t id, double score) {
  Node &end = nodes[at + length];
  double sum = score + nodes[at].score;
  if (flags & SingleScores)
    sum = static_cast<float>(sum);
  if (end.length != 0 && sum <= end.score)
    return false;
  end = {sum, id, static_cast<uint32_t>(length)};
  return true;
}

void Unigram::findBest(const Characters &text, Span word) {
  const size_t size = word.end - word.begin;
  nodes.assign(size + 1, Node());
  for (size_t at = 0; at < size; ++at) {
    // Try each token that starts here.
    bool single = false;
    uint32_t state = Trie::root;
    for (size_t end = at; end < size; ++end) {
      state = trie.stepCode(state, text[word.begin + end].code);
      if (state == Trie::none)
        break;
      const uint32_t id = trie.value(state);
      if (id >= scores.size())
        continue;
      const double score = scores[id];
      if (std::isnan(score))
        continue;
      extend(at, end + 1 - at, id, score);
      single |= end == at;
    }
    // A character that is not a token by itself may be unknown.
    if (!single && extend(at, 1, unknownId, unknownScore) &&
        unknownId == Trie::none && !missing)
      missing = text[word.begin + at].begin;
  }
}

/// Changes `length` and `id` of each node on the best path from the token that
/// ends there to the token that starts there.
void Unigram::linkForward() {
  Node next;
  for (size_t at = nodes.size() - 1;; at -= next.length) {
    std::swap(nodes[at], next);
    if (at == 0)
      return;
  }
}

/// Returns the token spelled by the characters in `part`, or `none`.
uint32_t Unigram::find(const Characters &text, Span part) const {
  uint32_t state = Trie::root;
  for (size_t at = part.begin; at < part.end && state != Trie::none; ++at)
    state = trie.stepCode(state, text[at].code);
  uint32_t id = state == Trie::none ? Trie::none : trie.value(state);
  // `ModelTrie` values may have `wholeBit` set.
  if (id != Trie::none)
    id &= ~wholeBit;
  return id < idEnd ? id : Trie::none;
}

void Unigram::addWhole(const Characters &text, Span part,
                       std::vector<Token> &tokens) const {
  uint32_t id = find(text, part);
  tokens.push_back({id == Trie::none ? unknownId : id, text[part.begin].begin,
                    text[part.end - 1].end});
}

void Unigram::addUnknown(const Characters &text, Span part,
                         std::vector<Token> &tokens) const {
  const uint32_t begin = text[part.begin].begin, end = text[part.end - 1].end;
  // Unknown characters together can form a token.
  uint32_t whole = find(text, part);
  if (whole != Trie::none || !(flags & ByteFallback)) {
    tokens.push_back({whole == Trie::none ? unknownId : whole, begin, end});
    return;
  }
  // Add their byte tokens, if all of them exist.
  size_t before = tokens.size();
  std::string bytes;
  for (size_t at = part.begin; at < part.end; ++at) {
    bytes.clear();
    utf8::append(bytes, text[at].code);
    for (char byte : bytes)
      tokens.push_back({byteTokens[static_cast<uint8_t>(byte)], begin, end});
  }
  bool known = std::none_of(
      tokens.begin() + static_cast<ptrdiff_t>(before), tokens.end(),
      [](const Token &token) { return token.id == Trie::none; });
  if (known)
    return;
  tokens.resize(before);
  tokens.push_back({unknownId, begin, end});
}

void Unigram::tokenize(const Characters &text, Span word,
                       std::vector<Token> &tokens) {
  findBest(text, word);
  if (missing)
    return;
  linkForward();
  size_t size = word.end - word.begin;
  for (size_t at = 0; at < size;) {
    size_t end = at + nodes[at].length;
    if (nodes[at].id != unknownId) {
      uint32_t id = nodes[at].id < idEnd ? nodes[at].id : unknownId;
      tokens.push_back(
          {id, text[word.begin + at].begin, text[word.begin + end - 1].end});
      at = end;
      continue;
    }
    while (end < size && nodes[end].id == unknownId)
      end += nodes[end].length;
    addUnknown(text, {word.begin + at, word.begin + end}, tokens);
    at = end;
  }
}

} // namespace transom::tokenizer
