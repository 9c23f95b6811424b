// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations keep ranges sorted and separate, so that equal sets have equal
// lists.
#include "compiler/import/tokenizer/regex/CharSet.h"
#include "compiler/import/tokenizer/regex/RegexTables.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>
#include <string>

namespace transom::tokenizer {

template <typename Predicate> CharSet CharSet::ofRuns(Predicate matches) {
  CharSet set;
  for (size_t i = 0; i < propertyRunCount; ++i) {
    if (!matches(propertyRuns[i] & 0x7FF))
      continue;
    uint32_t end = i + 1 < propertyRunCount ? propertyRuns[i + 1] >> 11 : limit;
    set.list.push_back({propertyRuns[i] >> 11, end});
  }
  set.normalize();
  return set;
}

CharSet CharSet::ofBits(uint32_t anyOf) {
  return ofRuns([=](uint32_t properties) { return properties & anyOf; });
}

CharSet CharSet::punctuation() {
  CharSet set;
  for (uint32_t code = 0; code < limit; ++code)
    if (unicode::isPunctuation(code))
      set.list.push_back({code, code + 1});
  set.normalize();
  return set;
}

std::optional<CharSet> CharSet::named(std::string_view name) {
  // Case and separators in a property name are ignored.
  std::string key;
  for (char c : name)
    if (c != ' ' && c != '_' && (c != '-' || name[0] == '['))
      key += c >= 'A' && c <= 'Z' && name[0] != '[' ? static_cast<char>(c + 32)
                                                    : c;
  for (size_t i = 0; i < namedRangeCount; ++i) {
    const NamedRanges &ranges = namedRanges[i];
    if (key != ranges.name)
      continue;
    CharSet set;
    const uint32_t *step = rangeSteps + ranges.first;
    for (uint32_t k = 0, begin = 0; k + 1 < ranges.count; k += 2) {
      begin += step[k];
      set.list.push_back({begin, begin + step[k + 1]});
      begin += step[k + 1];
    }
    return set;
  }
  return std::nullopt;
}

void CharSet::normalize() {
  std::sort(list.begin(), list.end());
  size_t size = 0;
  for (const Range &range : list) {
    if (range.begin >= range.end)
      continue;
    if (size > 0 && range.begin <= list[size - 1].end)
      list[size - 1].end = std::max(list[size - 1].end, range.end);
    else
      list[size++] = range;
  }
  list.resize(size);
}

void CharSet::add(const CharSet &other) {
  list.insert(list.end(), other.list.begin(), other.list.end());
  normalize();
}

CharSet CharSet::complement() const {
  CharSet set;
  uint32_t from = 0;
  for (const Range &range : list) {
    if (from < range.begin)
      set.list.push_back({from, range.begin});
    from = range.end;
  }
  if (from < limit)
    set.list.push_back({from, limit});
  return set;
}

CharSet CharSet::without(const CharSet &other) const {
  CharSet outside = complement();
  outside.add(other);
  return outside.complement();
}

bool CharSet::contains(uint32_t code) const {
  auto after =
      std::upper_bound(list.begin(), list.end(), Range{code, UINT32_MAX});
  return after != list.begin() && (after - 1)->end > code;
}

void CharSet::ignoreCase() {
  constexpr uint32_t firstBit = 0x80000000;
  std::vector<Range> added;
  for (size_t begin = 0, end; begin < foldGroupsSize; begin = end) {
    for (end = begin + 1;
         end < foldGroupsSize && (foldGroups[end] & firstBit) == 0;)
      ++end;
    auto isIn = [&](uint32_t code) { return contains(code & ~firstBit); };
    if (std::any_of(foldGroups + begin, foldGroups + end, isIn))
      for (size_t i = begin; i < end; ++i) {
        const uint32_t code = foldGroups[i] & ~firstBit;
        added.push_back({code, code + 1});
      }
  }
  list.insert(list.end(), added.begin(), added.end());
  normalize();
}

} // namespace transom::tokenizer
