// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a state's children at the first base where all their slots are free.
// The base search skips ranges that failed often, so building is almost linear,
// at the cost of a few unused units.
#include "compiler/import/tokenizer/TrieBuilder.h"
#include <algorithm>

namespace transom::tokenizer {

namespace {
/// Keys [begin, end) share their first `depth` bytes and are at `state`.
struct Work {
  uint32_t state;
  size_t begin, end, depth;
};

class Builder {
public:
  explicit Builder(const std::vector<TrieKey> &keys) : keys(keys) {}

  std::vector<TrieUnit> run() {
    grow(1);
    take(Trie::root);
    std::vector<Work> stack{{Trie::root, 0, keys.size(), 0}};
    while (!stack.empty()) {
      Work work = stack.back();
      stack.pop_back();
      expand(work, stack);
    }
    return std::move(units);
  }

private:
  uint32_t getLabel(size_t key, size_t depth) const {
    std::string_view text = keys[key].first;
    return depth == text.size() ? 0 : static_cast<uint8_t>(text[depth]) + 1u;
  }

  void expand(const Work &work, std::vector<Work> &stack) {
    labels.clear();
    for (size_t key = work.begin; key < work.end; ++key)
      if (uint32_t label = getLabel(key, work.depth);
          labels.empty() || labels.back() != label)
        labels.push_back(label);
    uint32_t base = findBase();
    units[work.state].base = base;
    size_t begin = work.begin;
    for (uint32_t label : labels) {
      uint32_t child = base + label;
      take(child);
      units[child].check = work.state + 1;
      size_t end = begin + 1;
      while (end < work.end && getLabel(end, work.depth) == label)
        ++end;
      if (label == 0)
        units[child].base = keys[begin].second;
      else
        stack.push_back({child, begin, end, work.depth + 1});
      begin = end;
    }
  }

  /// Returns a base >= 1 at which the slots for all `labels` are free.
  uint32_t findBase() {
    uint32_t first = labels.front();
    uint32_t least = first + 1;
    if (labels.size() > 1)
      least = std::max(least, searchFrom);
    unsigned failures = 0;
    for (uint32_t place = nextFree(least);; place = nextFree(place + 1)) {
      uint32_t base = place - first;
      grow(size_t(base) + labels.back() + 1);
      bool fits = std::all_of(labels.begin(), labels.end(),
                              [&](uint32_t l) { return isFree(base + l); });
      if (fits)
        return base;
      if (++failures % 64 == 0)
        searchFrom = place;
    }
  }

  bool isFree(uint32_t place) const { return next[place] == place; }
  void take(uint32_t place) { next[place] = place + 1; }

  /// Returns the first free slot at or after `place`; traversal halves the
  /// paths.
  uint32_t nextFree(uint32_t place) {
    grow(size_t(place) + 1);
    while (next[place] != place) {
      grow(size_t(next[place]) + 2);
      next[place] = next[next[place]];
      place = next[place];
    }
    return place;
  }

  void grow(size_t size) {
    while (next.size() < size + 1)
      next.push_back(static_cast<uint32_t>(next.size()));
    if (units.size() < size)
      units.resize(size, TrieUnit{0, 0});
  }

  const std::vector<TrieKey> &keys;
  std::vector<TrieUnit> units;
  std::vector<uint32_t> next; ///< the slot itself if it is free, else a later
                              ///< one
  std::vector<uint32_t> labels;
  uint32_t searchFrom = 1;
};
} // namespace

std::vector<TrieUnit> buildTrie(const std::vector<TrieKey> &keys) {
  if (keys.empty())
    return {};
  return Builder(keys).run();
}

} // namespace transom::tokenizer
