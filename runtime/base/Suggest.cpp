// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The nearest name: one that differs only in case, else one that continues the
// word or ends in it, else by edit distance.
#include "runtime/base/Suggest.h"
#include <algorithm>

namespace transom {
namespace {

constexpr size_t longestWord = 100; // longer names are not compared

/// The name in lower case.
std::string toLower(std::string_view name) {
  std::string lower(name);
  for (char &c : lower)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// Removes a flag's leading dashes.
std::string_view withoutDashes(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return name;
}

/// The shortest candidate that continues the word, or that ends in it after a
/// `-`, `_` or `.`; null without one.
const std::string *findLonger(std::string_view word,
                              const std::vector<std::string> &candidates) {
  constexpr size_t leastEnd = 4; // short words end many names
  const std::string *best = nullptr, *bestEnd = nullptr;
  auto keepShortest = [](const std::string *&kept, const std::string &found) {
    if (!kept || found.size() < kept->size())
      kept = &found;
  };
  for (const std::string &candidate : candidates) {
    if (candidate.size() <= word.size() || candidate.size() > 2 * longestWord)
      continue;
    const std::string lower = toLower(candidate);
    const size_t start = lower.size() - word.size();
    if (lower.compare(0, word.size(), word) == 0)
      keepShortest(best, candidate);
    else if (word.size() >= leastEnd &&
             lower.compare(start, word.size(), word) == 0 &&
             std::string_view("-_.").find(lower[start - 1]) !=
                 std::string_view::npos)
      keepShortest(bestEnd, candidate);
  }
  return best ? best : bestEnd;
}

/// Edit distance from a to b: insertions, deletions, substitutions and swaps
/// between neighbors.
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

std::string suggest(std::string_view name,
                    const std::vector<std::string> &candidates) {
  size_t bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
  const std::string *best = nullptr;
  // A single letter is close to every short name.
  if (name.size() > longestWord || withoutDashes(name).size() < 2)
    return "";
  const std::string word = toLower(name);
  for (const std::string &candidate : candidates)
    if (candidate.size() == word.size() && toLower(candidate) == word)
      return "; did you mean '" + candidate + "'?";
  if (const std::string *longer = findLonger(word, candidates))
    return "; did you mean '" + *longer + "'?";
  for (const std::string &candidate : candidates) {
    size_t difference = candidate.size() > word.size()
                            ? candidate.size() - word.size()
                            : word.size() - candidate.size();
    if (difference >= bestDistance || candidate.size() > 2 * longestWord ||
        withoutDashes(candidate).size() < 2)
      continue;
    size_t distance = editDistance(word, toLower(candidate));
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
