// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds added tokens ([CLS], [MASK], user-defined ones) in text, before or
// after normalization.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include <optional>

namespace transom::tokenizer {

/// A part of a text: an added token or the text between two added tokens.
struct Split {
  Span span;
  std::optional<uint32_t> id; ///< if it is an added token
};

/// Splits `text` at added tokens, in order. The leftmost match wins, then the
/// longest one; `trie` contains indices into `tokens`.
std::vector<Split> splitAdded(Trie trie, ArrayView<AddedToken> tokens,
                              const Characters &text);

} // namespace transom::tokenizer
