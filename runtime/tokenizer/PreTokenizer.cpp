// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The BERT steps split where the kind of neighboring characters changes: a
// character is dropped, is a word by itself, or joins a run of its kind. Other
// steps split by a program, or rewrite the words into a new text.
#include "runtime/tokenizer/PreTokenizer.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>

namespace transom::tokenizer {

namespace {
/// Action that a step takes for a character.
enum class Kind { Drop, Alone, Run, OtherRun };
using Words = std::vector<Span>;
} // namespace

static Kind getKind(PreTokenizerStep step, char32_t code) {
  const unicode::Record &record = unicode::getRecord(code);
  switch (step) {
  case PreTokenizerStep::SplitWhitespace:
    return record.flags & unicode::Whitespace ? Kind::Drop : Kind::Run;
  case PreTokenizerStep::IsolatePunctuation:
    return record.flags & unicode::Punctuation ? Kind::Alone : Kind::Run;
  default:
    if (record.flags & unicode::Word)
      return Kind::Run;
    return record.flags & unicode::Whitespace ? Kind::Drop : Kind::OtherRun;
  }
}

static void cutByKind(PreTokenizerStep step, const Characters &text, Span span,
                      Words &words) {
  size_t begin = span.begin;
  while (begin < span.end) {
    Kind kind = getKind(step, text[begin].code);
    size_t end = begin + 1;
    if (kind == Kind::Run || kind == Kind::OtherRun)
      while (end < span.end && getKind(step, text[end].code) == kind)
        ++end;
    if (kind != Kind::Drop)
      words.push_back({begin, end});
    begin = end;
  }
}

static void removeEmpty(Words &words) {
  words.erase(std::remove_if(words.begin(), words.end(),
                             [](Span word) { return word.begin == word.end; }),
              words.end());
}

static void cutByProgram(const StepList &list, Step step,
                         const Characters &text, Words &words) {
  std::optional<Splitter> splitter = Splitter::open(list.text(step.first));
  if (!splitter)
    return;
  Words next;
  for (Span word : words)
    applyBehavior(static_cast<Behavior>(step.option), step.secondOption != 0,
                  splitter->find(text, word), next);
  removeEmpty(next);
  words = std::move(next);
}

/// Replaces each word by the characters that `rewriter` appends to the new
/// text.
template <typename Rewriter>
static void rewrite(Characters &text, Words &words, const Rewriter &rewriter) {
  Characters result;
  result.reserve(text.size() + words.size());
  for (Span &word : words) {
    size_t begin = result.size();
    rewriter(text, word, result);
    word = {begin, result.size()};
  }
  removeEmpty(words);
  text = std::move(result);
}

static void appendWord(const Characters &text, Span word, Characters &result) {
  result.insert(result.end(), text.begin() + static_cast<ptrdiff_t>(word.begin),
                text.begin() + static_cast<ptrdiff_t>(word.end));
}

static void addPrefix(std::string_view prefix, bool onlyFirst, Characters &text,
                      Words &words) {
  const Characters inserted = getCharacters(prefix);
  auto hasPrefix = [&](const Characters &from, Span word) {
    if (inserted.empty() || word.end - word.begin < inserted.size())
      return inserted.empty();
    for (size_t i = 0; i < inserted.size(); ++i)
      if (from[word.begin + i].code != inserted[i].code)
        return false;
    return true;
  };
  rewrite(text, words,
          [&](const Characters &from, Span word, Characters &result) {
            const Character &first = from[word.begin];
            if (!hasPrefix(from, word) && !(onlyFirst && first.begin != 0))
              for (const Character &character : inserted)
                result.push_back({character.code, first.begin, first.end});
            appendWord(from, word, result);
          });
}

static void toBytes(Characters &text, Words &words) {
  rewrite(text, words,
          [&](const Characters &from, Span word, Characters &result) {
            for (size_t i = word.begin; i < word.end; ++i)
              appendBytes(from[i], result);
          });
}

static void cutByLength(size_t length, Words &words) {
  if (length == 0)
    return;
  Words next;
  for (Span word : words)
    for (size_t at = word.begin; at < word.end; at += length)
      next.push_back({at, std::min(at + length, word.end)});
  words = std::move(next);
}

static void replaceInWords(const StepList &list, Step step, Characters &text,
                           Words &words) {
  std::optional<Splitter> splitter = Splitter::open(list.text(step.first));
  if (!splitter)
    return;
  const Characters content = getCharacters(list.text(step.second));
  rewrite(text, words,
          [&](const Characters &from, Span word, Characters &result) {
            splitter->replace(from, word, content, result);
          });
}

static void runStep(const StepList &list, Step step, Characters &text,
                    Words &words) {
  switch (static_cast<PreTokenizerStep>(step.kind)) {
  case PreTokenizerStep::SplitWhitespace:
  case PreTokenizerStep::IsolatePunctuation:
  case PreTokenizerStep::WordsAndSymbols: {
    Words next;
    for (Span word : words)
      cutByKind(static_cast<PreTokenizerStep>(step.kind), text, word, next);
    words = std::move(next);
    return;
  }
  case PreTokenizerStep::Split:
    return cutByProgram(list, step, text, words);
  case PreTokenizerStep::PrefixSpace:
    return addPrefix(list.text(step.first), step.option != 0, text, words);
  case PreTokenizerStep::ToBytes:
    return toBytes(text, words);
  case PreTokenizerStep::Rewrite:
    return replaceInWords(list, step, text, words);
  case PreTokenizerStep::CutByLength:
    return cutByLength(step.option, words);
  }
}

std::vector<Span> preTokenize(const StepList &list, Characters &text) {
  Words words;
  if (!text.empty())
    words.push_back({0, text.size()});
  for (size_t i = 0; i < list.steps.size(); ++i)
    runStep(list, list.steps[i], text, words);
  return words;
}

} // namespace transom::tokenizer
