// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cluster is replaced as a whole by the replacement for its shortest key,
// even if that key is only its prefix: Hugging Face does so to reproduce
// SentencePiece's results.
#include "runtime/tokenizer/CharacterMap.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Aligner.h"
#include "runtime/tokenizer/Graphemes.h"
#include <optional>

namespace transom::tokenizer {

/// Returns the string at `place`, if there is a valid one.
static std::optional<std::string_view> getString(std::string_view strings,
                                                 size_t place) {
  if (place >= strings.size())
    return std::nullopt;
  std::string_view string = strings.substr(place);
  string = string.substr(0, string.find('\0'));
  if (!utf8::isValid(string))
    return std::nullopt;
  return string;
}

namespace {
/// Scans a text once.
class Mapper {
public:
  Mapper(std::string_view trie, std::string_view strings,
         const Characters &text)
      : trie(trie), strings(strings), text(text) {}

  /// Returns nullopt if no key is found.
  std::optional<Characters> run() {
    changes.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      size_t end = getGraphemeEnd(text, at);
      if (end - at > 1 && isShort(at, end) && replace(at, end)) {
        at = end;
        continue;
      }
      for (; at < end; ++at)
        if (!replace(at, at + 1))
          changes.push_back({text[at].code, 0});
    }
    if (!found)
      return std::nullopt;
    Aligner aligner(text);
    aligner.reserve(changes.size());
    for (Change change : changes)
      aligner.add(change.code, change.change);
    return aligner.take();
  }

private:
  /// A character in the new text, in `Aligner` terms.
  struct Change {
    char32_t code;
    int64_t change;
  };

  bool isShort(size_t begin, size_t end) {
    bytes.clear();
    for (size_t at = begin; at < end && bytes.size() <= longestClusterKey; ++at)
      utf8::append(bytes, text[at].code);
    return bytes.size() <= longestClusterKey;
  }

  /// Returns the replacement for the shortest key that is a prefix of [begin,
  /// end).
  std::optional<std::string_view> find(size_t begin, size_t end) {
    uint32_t state = Trie::root, place = Trie::none;
    for (size_t at = begin; at < end && place == Trie::none; ++at) {
      bytes.clear();
      utf8::append(bytes, text[at].code);
      for (size_t i = 0; i < bytes.size() && place == Trie::none; ++i) {
        state = trie.step(state, static_cast<uint8_t>(bytes[i]));
        if (state == Trie::none)
          return std::nullopt;
        place = trie.value(state);
      }
    }
    return getString(strings, place);
  }

  /// Appends the replacement for [begin, end). Added characters share their
  /// position with the preceding one, and the last one covers the positions of
  /// removed ones.
  bool replace(size_t begin, size_t end) {
    std::optional<std::string_view> string = find(begin, end);
    if (!string)
      return false;
    found = true;
    const size_t before = end - begin;
    size_t count = 0;
    for (size_t at = 0; at < string->size(); ++count)
      changes.push_back({utf8::decode(*string, at), count < before ? 0 : 1});
    if (count < before && !changes.empty())
      changes.back().change -= static_cast<int64_t>(before - count);
    return true;
  }

  Trie trie;
  std::string_view strings;
  const Characters &text;
  std::vector<Change> changes;
  std::string bytes; ///< UTF-8 scratch buffer
  bool found = false;
};
} // namespace

void mapCharacters(std::string_view trie, std::string_view strings,
                   Characters &text) {
  if (auto mapped = Mapper(trie, strings, text).run())
    text = std::move(*mapped);
}

namespace {
/// End of the longest key in a text, and its replacement.
struct LongestKey {
  size_t end;
  std::optional<std::string_view> string; ///< nullopt: no key was found
};
} // namespace

/// Finds the longest key at `begin`; without one, `end` is after one character.
static LongestKey findLongest(const MapArray &map, std::string_view strings,
                              const Characters &text, size_t begin,
                              std::string &bytes) {
  size_t state = map.getRoot(), found = MapArray::none, end = begin + 1;
  size_t length = 0;
  for (size_t i = begin; i < text.size() && state != MapArray::none; ++i) {
    // Follow a character's bytes. Keys end between characters.
    bytes.clear();
    utf8::append(bytes, text[i].code);
    length += bytes.size();
    if (length > longestMapKey)
      break;
    MapArray::Child child{state, MapArray::none};
    for (char byte : bytes)
      if (child.state != MapArray::none)
        child = map.getChild(child.state, static_cast<uint8_t>(byte));
    state = child.state;
    if (child.value != MapArray::none) {
      found = map.getValue(child.value);
      end = i + 1;
    }
  }
  if (found == MapArray::none)
    return {begin + 1, std::nullopt};
  return {end, getString(strings, found)};
}

void mapLongest(std::string_view array, std::string_view strings,
                Characters &text) {
  const MapArray map(array);
  if (map.size() == 0)
    return;
  Characters result;
  result.reserve(text.size());
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const auto [end, string] = findLongest(map, strings, text, at, bytes);
    const uint32_t begin = text[at].begin, last = text[end - 1].end;
    if (string)
      for (size_t i = 0; i < string->size();)
        result.push_back({utf8::decode(*string, i), begin, last});
    else
      result.insert(result.end(), text.begin() + static_cast<ptrdiff_t>(at),
                    text.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  }
  text = std::move(result);
}

} // namespace transom::tokenizer
