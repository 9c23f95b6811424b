// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookup in the generated tables; Hangul syllables are decomposed
// arithmetically (Unicode Standard, section 3.12).
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>
#include <utility>

namespace transom::unicode {

const Record &getRecord(char32_t code) {
  code = std::min<char32_t>(code, 0x10FFFF);
  size_t block = blocks[code >> blockShift];
  size_t low = code & ((1u << blockShift) - 1);
  return records[recordNumbers[(block << blockShift) + low]];
}

bool isChinese(char32_t code) {
  static constexpr char32_t ranges[][2] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  if (code < 0x3400)
    return false;
  for (auto &range : ranges)
    if (code >= range[0] && code <= range[1])
      return true;
  return false;
}

static Image getImage(char32_t code, const Expansion *table, size_t count,
                      const char32_t *pool) {
  const Expansion *found = std::lower_bound(
      table, table + count, code,
      [](const Expansion &entry, char32_t code) { return entry.code < code; });
  if (found == table + count || found->code != code)
    return {{code}, 1};
  Image image{{}, std::min<unsigned>(found->length, 4)};
  std::copy_n(pool + found->offset, image.size, image.codes);
  return image;
}

LongImage decomposeCompatibly(char32_t code) {
  if (code < 0xA0)
    return {nullptr, 0};
  const Expansion *end = compatibilities + compatibilityCount;
  const Expansion *found = std::lower_bound(
      compatibilities, end, code,
      [](const Expansion &entry, char32_t code) { return entry.code < code; });
  if (found == end || found->code != code)
    return {nullptr, 0};
  return {compatible + found->offset, found->length};
}

static Image decomposeHangul(char32_t syllable) {
  constexpr unsigned trailCount = 28, vowelCount = 21;
  char32_t lead = 0x1100 + syllable / (vowelCount * trailCount);
  char32_t vowel = 0x1161 + syllable / trailCount % vowelCount;
  char32_t trail = 0x11A7 + syllable % trailCount;
  return {{lead, vowel, trail}, trail == 0x11A7 ? 2u : 3u};
}

Image decompose(char32_t code) {
  if (!has(code, Decomposes))
    return {{code}, 1};
  if (code >= 0xAC00 && code < 0xAC00 + 11172)
    return decomposeHangul(code - 0xAC00);
  return getImage(code, decompositions, decompositionCount, decomposed);
}

char32_t compose(char32_t first, char32_t second) {
  constexpr char32_t leads = 0x1100, vowels = 0x1161, trails = 0x11A7;
  constexpr char32_t syllables = 0xAC00, syllableEnd = syllables + 11172;
  if (first - leads < 19 && second - vowels < 21)
    return syllables + ((first - leads) * 21 + second - vowels) * 28;
  if (first >= syllables && first < syllableEnd &&
      (first - syllables) % 28 == 0 && second - trails - 1 < 27)
    return first + second - trails;
  const Composition *end = compositions + compositionCount;
  const Composition *found = std::lower_bound(
      compositions, end, std::pair(first, second),
      [](const Composition &entry, std::pair<char32_t, char32_t> key) {
        return std::pair(entry.first, entry.second) < key;
      });
  if (found == end || found->first != first || found->second != second)
    return 0;
  return found->composed;
}

Image lowercase(char32_t code) {
  const Record &record = getRecord(code);
  if (record.flags & LowerExpands)
    return getImage(code, lowerExpansions, lowerExpansionCount, lowered);
  return {{static_cast<char32_t>(code + record.lowerDelta)}, 1};
}

} // namespace transom::unicode
