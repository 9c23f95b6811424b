// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads SentencePiece's precompiled character maps.
#pragma once
#include "runtime/base/Error.h"
#include <optional>
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// A map in the table format.
struct CharacterMap {
  std::string trie;    ///< `TrieUnit`s, from keys to offsets in `strings`; with
                       ///< all keys, the file's own `MapArray`
  std::string strings; ///< replacement strings, each terminated by NUL
};

/// Keys to read from a map.
enum class MapKeys {
  Shortest, ///< the keys that `mapCharacters` finds
  All,
};

/// Reads a map: the size of a double array in Darts-clone's format, the array,
/// strings. `Rejected` if it is malformed, `Limit` if it has more shortest keys
/// than any language needs.
Result<CharacterMap> readCharacterMap(std::string_view bytes,
                                      MapKeys chosen = MapKeys::Shortest);

/// Decodes a base64 string; nullopt if it is malformed.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace transom::tokenizer
