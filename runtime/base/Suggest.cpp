// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nearest name: one that continues the word, else by edit distance.
#include "runtime/base/Suggest.h"
#include <algorithm>

namespace transom {
namespace {

constexpr size_t longestWord = 100; // longer names are not compared

/// The letters of a name, without the dashes before a flag.
std::string_view withoutDashes(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return name;
}

/// The shortest candidate that continues the word, or null.
const std::string *findPrefixed(std::string_view word,
                                const std::vector<std::string> &candidates) {
  const std::string *best = nullptr;
  for (const std::string &candidate : candidates)
    if (candidate.size() > word.size() &&
        candidate.compare(0, word.size(), word) == 0 &&
        (!best || candidate.size() < best->size()))
      best = &candidate;
  return best;
}

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
  // A single letter is near to every short name.
  if (word.size() > longestWord || withoutDashes(word).size() < 2)
    return "";
  if (const std::string *longer = findPrefixed(word, candidates))
    return "; did you mean '" + *longer + "'?";
  for (const std::string &candidate : candidates) {
    size_t difference = candidate.size() > word.size()
                            ? candidate.size() - word.size()
                            : word.size() - candidate.size();
    if (difference >= bestDistance || candidate.size() > 2 * longestWord ||
        withoutDashes(candidate).size() < 2)
      continue;
    size_t distance = editDistance(word, candidate);
    // A name that shares no letter with the word is not suggested.
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
