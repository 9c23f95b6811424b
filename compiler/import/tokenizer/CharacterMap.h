// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the precompiled character maps of SentencePiece.
#pragma once
#include "runtime/base/Error.h"
#include <optional>
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// A map as the tables have it.
struct CharacterMap {
  std::string trie;    ///< `TrieUnit`s, keys to places in `strings`; of all
                       ///< keys the file's own `MapArray`
  std::string strings; ///< what keys become, each with NUL at its end
};

/// Which keys of a map are read.
enum class MapKeys {
  Shortest, ///< those that `mapCharacters` finds
  All,
};

/// Reads a map: the size of a double array in Darts-clone's format, the array,
/// strings. `Rejected` where it is malformed, `Limit` where it has more
/// shortest keys than any language.
Result<CharacterMap> readCharacterMap(std::string_view bytes,
                                      MapKeys chosen = MapKeys::Shortest);

/// The bytes of a text in base 64, or nothing where it is malformed.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace transom::tokenizer
