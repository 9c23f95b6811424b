// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding added tokens ([CLS], [MASK], a user's own) inside text, before or
// after it is normalized.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include <optional>

namespace transom::tokenizer {

/// A part of a text: an added token or what lies between two of them.
struct Split {
  Span span;
  std::optional<uint32_t> id; ///< of an added token
};

/// The splits of `text`, in order. The leftmost and there the longest token
/// wins; `trie` gives indices of `tokens`.
std::vector<Split> splitAdded(Trie trie, ArrayView<AddedToken> tokens,
                              const Characters &text);

} // namespace transom::tokenizer
