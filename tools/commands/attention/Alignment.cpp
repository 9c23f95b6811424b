// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Word alignment.
#include "tools/commands/attention/Alignment.h"
#include <algorithm>
#include <set>

using namespace transom;
using namespace transom::tools;

/// Returns the byte count of white space at an index; 0 for other characters.
static size_t getSpaceSize(const std::string &text, size_t at) {
  if (std::string_view(" \t\n\v\f\r").find(text[at]) != std::string_view::npos)
    return 1;
  // No-break space, U+2000 to U+200A, narrow and ideographic spaces.
  const std::string_view rest = std::string_view(text).substr(at);
  if (rest.substr(0, 2) == "\xc2\xa0")
    return 2;
  const std::string_view three = rest.substr(0, 3);
  const bool isSpace = three == "\xe2\x80\xaf" || three == "\xe3\x80\x80" ||
                       (three.substr(0, 2) == "\xe2\x80" && three.size() == 3 &&
                        three[2] >= '\x80' && three[2] <= '\x8a');
  return isSpace ? 3 : 0;
}

TokenWords tools::findWords(const std::string &text,
                            const std::vector<TextSpan> &tokens) {
  // Map each byte to its word.
  TokenWords result;
  std::vector<std::optional<size_t>> ofBytes(text.size());
  bool inWord = false;
  for (size_t i = 0; i < text.size();) {
    if (const size_t space = getSpaceSize(text, i)) {
      inWord = false;
      i += space;
      continue;
    }
    if (!inWord)
      result.words.emplace_back();
    inWord = true;
    result.words.back() += text[i];
    ofBytes[i++] = result.words.size() - 1;
  }

  for (const TextSpan &token : tokens) {
    size_t at = token.begin;
    const size_t end = std::min(token.end, text.size());
    while (at < end && !ofBytes[at])
      ++at;
    result.ofTokens.push_back(at < end ? ofBytes[at] : std::nullopt);
  }
  return result;
}

/// Sums the weights over all layers and heads, [queries, keys].
static std::vector<double> sumWeights(const AttentionGroup &cross) {
  std::vector<double> sums(cross.getMatrixSize());
  for (size_t i = 0; i < cross.weights.size(); ++i)
    sums[i % sums.size()] += cross.weights[i];
  return sums;
}

Alignment tools::alignWords(const AttentionGroup &cross,
                            const TokenWords &source,
                            const TokenWords &target) {
  const std::vector<double> sums = sumWeights(cross);
  const size_t keys = std::min(cross.keys.size(), source.ofTokens.size()),
               queries = std::min(cross.queries.size(), target.ofTokens.size());
  std::set<WordPair> pairs;
  for (size_t query = 0; query < queries; ++query) {
    const std::optional<size_t> word = target.ofTokens[query];
    const double *row = sums.data() + query * cross.keys.size();
    std::optional<size_t> best;
    for (size_t key = 0; key < keys; ++key)
      if (source.ofTokens[key] && (!best || row[key] > row[*best]))
        best = key;
    if (word && best)
      pairs.insert({*source.ofTokens[*best], *word});
  }
  return {source.words, target.words, {pairs.begin(), pairs.end()}};
}
