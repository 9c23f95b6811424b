// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the double-array tries in the tables.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <string_view>
#include <utility>
#include <vector>

namespace transom::tokenizer {

/// A key and its value (less than `Trie::none`).
using TrieKey = std::pair<std::string_view, uint32_t>;

/// Builds a trie for `keys`, which are distinct and sorted by their bytes. No
/// keys give no units.
std::vector<TrieUnit> buildTrie(const std::vector<TrieKey> &keys);

} // namespace transom::tokenizer
