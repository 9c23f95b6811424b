// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every step is a cut where the kind of neighbouring characters changes: a
// character is dropped, stands alone, or joins a run of its kind.
#include "runtime/tokenizer/PreTokenizer.h"
#include "runtime/tokenizer/Unicode.h"

namespace transom::tokenizer {

namespace {
/// What a step does with a character.
enum class Kind { Drop, Alone, Run, OtherRun };
} // namespace

static Kind kindOf(PreTokenizerStep step, char32_t code) {
  const unicode::Record &record = unicode::recordOf(code);
  switch (step) {
  case PreTokenizerStep::SplitWhitespace:
    return record.flags & unicode::Whitespace ? Kind::Drop : Kind::Run;
  case PreTokenizerStep::IsolatePunctuation:
    return record.flags & unicode::Punctuation ? Kind::Alone : Kind::Run;
  case PreTokenizerStep::WordsAndSymbols:
    if (record.flags & unicode::Word)
      return Kind::Run;
    return record.flags & unicode::Whitespace ? Kind::Drop : Kind::OtherRun;
  }
  return Kind::Run;
}

static void cut(PreTokenizerStep step, const Characters &text, Span span,
                std::vector<Span> &words) {
  size_t begin = span.begin;
  while (begin < span.end) {
    Kind kind = kindOf(step, text[begin].code);
    size_t end = begin + 1;
    if (kind == Kind::Run || kind == Kind::OtherRun)
      while (end < span.end && kindOf(step, text[end].code) == kind)
        ++end;
    if (kind != Kind::Drop)
      words.push_back({begin, end});
    begin = end;
  }
}

std::vector<Span> preTokenize(std::string_view steps, const Characters &text,
                              Span span) {
  std::vector<Span> words;
  if (span.begin < span.end)
    words.push_back(span);
  for (char step : steps) {
    std::vector<Span> next;
    next.reserve(words.size());
    for (Span word : words)
      cut(static_cast<PreTokenizerStep>(step), text, word, next);
    words = std::move(next);
  }
  return words;
}

} // namespace transom::tokenizer
