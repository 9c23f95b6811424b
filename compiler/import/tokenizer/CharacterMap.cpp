// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The array is walked from its root, since its states may be shared: keys are
// what paths spell. Where only the shortest key of a text counts, a path ends
// at the first key on it.
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

namespace {
/// A state of the array; its children are at their labels' distance from it.
struct DartsState {
  size_t children;
  std::string key;
};

/// Walks the double array of a map.
class DartsReader {
public:
  DartsReader(std::string_view units, std::string_view strings, MapKeys chosen)
      : units(units), strings(strings), chosen(chosen) {}

  Result<CharacterMap> run() {
    const size_t stateLimit = getStateLimit();
    std::vector<DartsState> stack{{getOffset(units[0]), {}}};
    for (size_t visited = 0; !stack.empty(); ++visited) {
      if (visited == stateLimit || keys.size() > stateLimit)
        return limitError("a character map with more than " +
                          std::to_string(stateLimit) + " states");
      DartsState state = std::move(stack.back());
      stack.pop_back();
      TRANSOM_TRY(expand(state, stack));
    }
    return finish();
  }

private:
  /// Above the states of the maps for all languages.
  size_t getStateLimit() const {
    return chosen == MapKeys::All ? 1000000 : 200000;
  }
  static constexpr size_t lengthLimit = 64; ///< of a key in bytes

  static size_t getOffset(uint32_t unit) {
    return size_t(unit >> 10) << ((unit & (1u << 9)) >> 6);
  }

  Result<void> expand(const DartsState &state, std::vector<DartsState> &stack) {
    for (unsigned label = 1; label < 256; ++label) {
      size_t at = state.children ^ label;
      if (at >= units.size() || (units[at] & 0x800000FFu) != label)
        continue;
      std::string key = state.key + static_cast<char>(label);
      size_t children = at ^ getOffset(units[at]);
      const bool isKey = units[at] & (1u << 8);
      if (isKey)
        TRANSOM_TRY(addKey(key, children));
      if (chosen == MapKeys::All ? key.size() < lengthLimit
                                 : !isKey && key.size() < longestClusterKey)
        stack.push_back({children, std::move(key)});
    }
    return {};
  }

  Result<void> addKey(std::string key, size_t leaf) {
    if (leaf >= units.size())
      return bad("a value is outside the array");
    size_t place = units[leaf] & 0x7FFFFFFFu;
    if (place > strings.size() ||
        (place < strings.size() && (strings[place] & '\xC0') == '\x80'))
      return bad("no string starts at " + std::to_string(place) + " of " +
                 std::to_string(strings.size()) + " bytes");
    keys.push_back({std::move(key), place});
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
        // Strings that share their ends could be longer than the file.
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

  ArrayView<uint32_t> units;
  std::string_view strings;
  MapKeys chosen;
  std::vector<std::pair<std::string, size_t>> keys;
};
} // namespace

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
  return DartsReader(bytes.substr(0, size), strings, chosen).run();
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
