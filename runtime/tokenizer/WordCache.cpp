// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words themselves are compared, so hash collisions cost only time.
#include "runtime/tokenizer/WordCache.h"
#include <cstring>

namespace transom::tokenizer {

const WordCache::Entry *WordCache::find(const Characters &text, Span word) {
  static_assert(placeCount == size_t(1) << 13, "the bits of a place");
  place = placeCount;
  const size_t length = word.end - word.begin;
  if (length > Entry::longest)
    return nullptr;
  asked.codes = {};
  uint64_t hash = length;
  for (size_t i = 0; i < length; ++i) {
    const char32_t code = text[word.begin + i].code;
    if (code > UINT16_MAX)
      return nullptr;
    asked.codes[i] = static_cast<uint16_t>(code);
    hash = (hash ^ code) * 0x9E3779B97F4A7C15u;
  }
  asked.length = static_cast<uint8_t>(length);
  if (places.empty())
    places.resize(placeCount);
  place = hash >> 51;
  const Entry &entry = places[place];
  const bool same =
      entry.length == asked.length &&
      std::memcmp(&entry.codes, &asked.codes, sizeof asked.codes) == 0;
  return same ? &entry : nullptr;
}

void WordCache::put(const std::vector<WordPart> &parts) {
  if (place == placeCount || parts.size() > Entry::most)
    return;
  asked.count = static_cast<uint8_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    asked.ids[i] = parts[i].id;
    asked.first[i] = static_cast<uint8_t>(parts[i].first);
    asked.last[i] = static_cast<uint8_t>(parts[i].last);
  }
  places[place] = asked;
}

} // namespace transom::tokenizer
