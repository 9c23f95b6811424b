// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traverses the array from its root, since states may be shared: keys are the
// path labels. If only a text's shortest key is used, a path ends at the first
// key on it, and the remaining keys form a trie. A trie with all keys would be
// several times larger than the array, so the array is stored instead.
#include "compiler/import/tokenizer/CharacterMap.h"
#include "compiler/import/tokenizer/TrieBuilder.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/CharacterMap.h"
#include <algorithm>
#include <map>
#include <optional>

namespace transom::tokenizer {

static Error bad(const std::string &what) {
  return rejected("malformed character map: " + what);
}

/// Checks the offset of a key's value: it must be at the start of a character.
static Result<size_t> readPlace(const MapArray &array, size_t value,
                                std::string_view strings) {
  const size_t place = array.getValue(value);
  if (place == MapArray::none)
    return bad("a value is outside the array");
  if (place > strings.size() ||
      (place < strings.size() && (strings[place] & '\xC0') == '\x80'))
    return bad("no string starts at " + std::to_string(place) + " of " +
               std::to_string(strings.size()) + " bytes");
  return place;
}

namespace {
/// Builds a trie for the shortest keys, and their replacement strings.
class ShortestKeys {
public:
  ShortestKeys(const MapArray &array, std::string_view strings)
      : array(array), strings(strings) {}

  Result<CharacterMap> run() {
    std::vector<State> stack{{array.getRoot(), {}}};
    for (size_t visited = 0; !stack.empty(); ++visited) {
      if (visited == stateLimit || keys.size() > stateLimit)
        return limitError("a character map with more than " +
                          std::to_string(stateLimit) + " states");
      State state = std::move(stack.back());
      stack.pop_back();
      TRANSOM_TRY(expand(state, stack));
    }
    return finish();
  }

private:
  /// A state, and the bytes on its path.
  struct State {
    size_t state;
    std::string key;
  };
  /// More than the states in the maps for all languages.
  static constexpr size_t stateLimit = 200000;

  Result<void> expand(const State &from, std::vector<State> &stack) {
    for (unsigned byte = 1; byte < 256; ++byte) {
      const auto child = array.getChild(from.state, static_cast<uint8_t>(byte));
      if (child.state == MapArray::none)
        continue;
      std::string key = from.key + static_cast<char>(byte);
      if (child.value != MapArray::none) {
        TRANSOM_ASSIGN(size_t place, readPlace(array, child.value, strings));
        keys.push_back({std::move(key), place});
      } else if (key.size() < longestClusterKey) {
        stack.push_back({child.state, std::move(key)});
      }
    }
    return {};
  }

  Result<CharacterMap> finish() {
    CharacterMap map;
    std::sort(keys.begin(), keys.end());
    std::map<size_t, uint32_t> placed;
    std::vector<TrieKey> trie;
    for (const auto &[key, place] : keys) {
      auto [found, fresh] =
          placed.insert({place, static_cast<uint32_t>(map.strings.size())});
      if (fresh) {
        std::string_view rest = strings.substr(place);
        map.strings += rest.substr(0, rest.find('\0'));
        map.strings += '\0';
        // Strings with shared suffixes could be longer than the file.
        if (map.strings.size() > strings.size() + 1)
          return bad("its strings overlap");
      }
      trie.push_back({key, found->second});
    }
    std::vector<TrieUnit> built = buildTrie(trie);
    map.trie.assign(reinterpret_cast<const char *>(built.data()),
                    built.size() * sizeof(TrieUnit));
    return map;
  }

  const MapArray &array;
  std::string_view strings;
  std::vector<std::pair<std::string, size_t>> keys;
};
} // namespace

/// Checks all values in an array, visiting each state once.
static Result<void> checkValues(const MapArray &array,
                                std::string_view strings) {
  std::vector<bool> seen(array.size() + 256);
  std::vector<size_t> stack{array.getRoot()};
  while (!stack.empty()) {
    const size_t state = stack.back();
    stack.pop_back();
    for (unsigned byte = 1; byte < 256; ++byte) {
      const auto child = array.getChild(state, static_cast<uint8_t>(byte));
      if (child.value != MapArray::none)
        TRANSOM_TRY(readPlace(array, child.value, strings));
      if (child.state >= seen.size() || seen[child.state])
        continue;
      seen[child.state] = true;
      stack.push_back(child.state);
    }
  }
  return {};
}

Result<CharacterMap> readCharacterMap(std::string_view bytes, MapKeys chosen) {
  uint32_t size = 0;
  if (bytes.size() < sizeof size)
    return bad(std::to_string(bytes.size()) + " bytes, expected at least 4");
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  size -= size % sizeof(uint32_t);
  if (size == 0 || size > bytes.size())
    return bad("an array of " + std::to_string(size) + " bytes among " +
               std::to_string(bytes.size()));
  std::string_view strings = bytes.substr(size);
  if (size_t invalid = utf8::firstInvalid(strings);
      invalid != std::string_view::npos)
    return bad("its strings are not UTF-8 at byte " + std::to_string(invalid));
  const std::string_view units = bytes.substr(0, size);
  const MapArray array(units);
  if (chosen == MapKeys::Shortest)
    return ShortestKeys(array, strings).run();
  TRANSOM_TRY(checkValues(array, strings));
  return CharacterMap{std::string(units), std::string(strings) + '\0'};
}

static int getDigit(char c) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t at = digits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::optional<std::string> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i)
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  unsigned count = 0;
  for (char c : text) {
    int digit = getDigit(c);
    if (digit < 0)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count);
    }
  }
  return bytes;
}

} // namespace transom::tokenizer
