// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens are first joined into words, each with one label and score; then words
// with the same name are joined into spans. Without word merging each token is
// a word.
#include "runtime/text/Tags.h"
#include "runtime/base/Utf8.h"
#include "runtime/text/Text.h"
#include <algorithm>

using namespace transom;

TagName transom::splitTag(std::string_view label) {
  const std::string_view prefix = label.substr(0, 2);
  if (prefix == "B-" || prefix == "I-")
    return {prefix == "B-", label.substr(2)};
  return {false, label};
}

/// Counts the characters in valid UTF-8.
static size_t countCharacters(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

std::vector<TaggedToken>
transom::getTaggedTokens(const Tokenizer &tokenizer, std::string_view text,
                         const Encoding &encoding,
                         const std::vector<float> &scores, size_t labels) {
  const tokenizer::Parameters &parameters = tokenizer.data().parameters();
  const bool marksParts = parameters.continuingPrefix.length != 0;
  std::vector<TaggedToken> tokens;
  for (size_t i = 0; i != encoding.ids.size(); ++i) {
    if (encoding.specialMask[i])
      continue;
    const auto [begin, end] = encoding.offsets[i];
    bool continues = false;
    if (encoding.ids[i] == int64_t(parameters.unknownId)) {
      // The unknown token is always a separate word.
    } else if (marksParts) {
      continues = countCharacters(*tokenizer.token(encoding.ids[i])) !=
                  countCharacters(text.substr(begin, end - begin));
    } else {
      continues = begin > 0 && text[begin - 1] != ' ' &&
                  (begin == text.size() || text[begin] != ' ');
    }
    tokens.push_back({i, begin, end, continues, &scores[i * labels]});
  }
  return tokens;
}

namespace {

/// A token or a word, with one label and its score.
struct Unit {
  size_t label;
  double score;
  const TaggedToken *first, *last;
};

size_t getBest(const float *scores, size_t labels) {
  return size_t(std::max_element(scores, scores + labels) - scores);
}

/// Merges a word's tokens into one label.
Unit mergeWord(const TaggedToken *first, const TaggedToken *last, size_t labels,
               transom_span_merge merge) {
  const float *scores = first->scores;
  std::vector<float> means;
  if (merge == TRANSOM_SPAN_MERGE_MAX) {
    for (const TaggedToken *token = first + 1; token <= last; ++token)
      if (token->scores[getBest(token->scores, labels)] >
          scores[getBest(scores, labels)])
        scores = token->scores;
  } else if (merge == TRANSOM_SPAN_MERGE_AVERAGE) {
    std::vector<double> sums(labels);
    for (const TaggedToken *token = first; token <= last; ++token)
      for (size_t i = 0; i != labels; ++i)
        sums[i] += double(token->scores[i]);
    for (double sum : sums)
      means.push_back(float(sum / double(last - first + 1)));
    scores = means.data();
  }
  const size_t best = getBest(scores, labels);
  return {best, double(scores[best]), first, last};
}

transom_span makeSpan(const Unit *first, const Unit *last) {
  double sum = 0;
  for (const Unit *unit = first; unit <= last; ++unit)
    sum += unit->score;
  return {first->label,        float(sum / double(last - first + 1)),
          first->first->begin, last->last->end,
          first->first->index, last->last->index + 1};
}

} // namespace

std::vector<transom_span>
transom::mergeTokens(const std::vector<TaggedToken> &tokens,
                     const std::vector<std::string> &labels,
                     transom_span_merge merge) {
  const bool byWord =
      merge != TRANSOM_SPAN_MERGE_NONE && merge != TRANSOM_SPAN_MERGE_SIMPLE;
  std::vector<Unit> units;
  for (size_t begin = 0; begin != tokens.size();) {
    size_t end = begin + 1;
    while (byWord && end != tokens.size() && tokens[end].continues)
      ++end;
    units.push_back(
        mergeWord(&tokens[begin], &tokens[end - 1], labels.size(), merge));
    begin = end;
  }
  std::vector<transom_span> spans;
  for (size_t begin = 0; begin != units.size();) {
    const std::string_view name = splitTag(labels[units[begin].label]).name;
    size_t end = begin + 1;
    for (; merge != TRANSOM_SPAN_MERGE_NONE && end != units.size(); ++end) {
      const TagName next = splitTag(labels[units[end].label]);
      if (next.begins || next.name != name)
        break;
    }
    spans.push_back(makeSpan(&units[begin], &units[end - 1]));
    begin = end;
  }
  return spans;
}

Result<std::vector<transom_span>> transom::tagText(Session &session,
                                                   const transom_text &text,
                                                   transom_span_merge merge,
                                                   bool &cut) {
  if (merge < TRANSOM_SPAN_MERGE_NONE || merge > TRANSOM_SPAN_MERGE_MAX)
    return usageError("merge is one of transom_span_merge, got " +
                      std::to_string(int(merge)));
  Encoding encoding;
  std::vector<float> scores;
  TRANSOM_TRY(classifyTokens(session, text, encoding, scores));
  cut = encoding.truncatedTokens != 0;
  const std::vector<std::string> &labels = session.model().manifest().labels;
  return mergeTokens(getTaggedTokens(*session.model().tokenizer(),
                                     getView(text), encoding, scores,
                                     labels.size()),
                     labels, merge);
}
