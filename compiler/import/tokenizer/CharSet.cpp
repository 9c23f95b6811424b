// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations keep the ranges sorted and apart, so that equal sets are equal
// lists.
#include "compiler/import/tokenizer/CharSet.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>

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

CharSet CharSet::ofCategories(uint32_t numbers) {
  return ofRuns(
      [=](uint32_t properties) { return numbers >> (properties & 31) & 1; });
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
  static constexpr std::string_view scripts[] = {"Han", "Hiragana", "Katakana"};
  for (unsigned i = 0; i < 3; ++i)
    if (name == scripts[i])
      return ofBits(1u << (8 + i));
  // In the order of the generated numbers.
  static constexpr std::string_view categories =
      "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn";
  uint32_t numbers = 0;
  for (uint32_t i = 0; i < categories.size() / 2; ++i) {
    std::string_view category = categories.substr(2 * i, 2);
    if (name == category || (name.size() == 1 && name[0] == category[0]))
      numbers |= 1u << i;
  }
  if (numbers == 0)
    return std::nullopt;
  return ofCategories(numbers);
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

bool CharSet::ignoreCase() {
  CharSet letters = without(CharSet(0, 0x80)), known = *named("L");
  if (!letters.without(known.complement()).empty())
    return false;
  CharSet other;
  for (uint32_t code = 'a'; code <= 'z'; ++code) {
    if (!contains(code) && !contains(code - 0x20))
      continue;
    other.add(CharSet(code, code + 1));
    other.add(CharSet(code - 0x20, code - 0x20 + 1));
    if (code == 's')
      other.add(CharSet(0x17F, 0x180)); // long s
    if (code == 'k')
      other.add(CharSet(0x212A, 0x212B)); // kelvin
  }
  add(other);
  return true;
}

} // namespace transom::tokenizer
