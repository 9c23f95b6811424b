// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearest name by edit distance.
#include "runtime/base/Suggest.h"
#include <algorithm>

namespace transom {
namespace {

constexpr size_t longestWord = 100; // longer names are not compared

/// Insertions, deletions, substitutions and swaps of neighbours from a to b.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1,
                         last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

} // namespace

std::string suggest(std::string_view word,
                    const std::vector<std::string> &candidates) {
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  const std::string *best = nullptr;
  if (word.size() > longestWord)
    return "";
  for (const std::string &candidate : candidates) {
    size_t difference = candidate.size() > word.size()
                            ? candidate.size() - word.size()
                            : word.size() - candidate.size();
    if (difference >= bestDistance || candidate.size() > 2 * longestWord)
      continue;
    size_t distance = editDistance(word, candidate);
    // A word that shares nothing is no suggestion.
    if (distance < bestDistance && distance < candidate.size()) {
      bestDistance = distance;
      best = &candidate;
    }
  }
  return best ? "; did you mean '" + *best + "'?" : "";
}

std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace transom
