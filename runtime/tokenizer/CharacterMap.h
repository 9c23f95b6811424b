// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The character maps of SentencePiece, which normalize text by replacing short
// sequences, as Hugging Face applies them.
#pragma once
#include "runtime/tokenizer/Normalizer.h"

namespace transom::tokenizer {

/// Keys of more bytes are never found by `mapCharacters`.
inline constexpr size_t longestClusterKey = 5;

/// Replaces in `text` what a map has: each grapheme cluster of at most
/// `longestClusterKey` bytes that begins with a key, else each character that
/// does. `trie` is a trie of keys, with places in `strings`, where the
/// replacement lies and ends with NUL. Time is linear.
void mapCharacters(std::string_view trie, std::string_view strings,
                   Characters &text);

/// The same as SentencePiece does it itself: of the keys that begin at a place,
/// the longest is replaced. Time is bounded by the text times the longest key.
void mapLongest(std::string_view trie, std::string_view strings,
                Characters &text);

} // namespace transom::tokenizer
