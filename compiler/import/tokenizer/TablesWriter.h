// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tokenizer.json means, in memory, and its layout as tables.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <string>
#include <vector>

namespace transom::tokenizer {

/// A token as `decode` shows it.
struct DraftEntry {
  uint32_t id = 0;
  std::string text;
  bool special = false;
};

/// An added token; `pattern` is what is searched for in the text.
struct DraftAdded {
  uint32_t id = 0;
  uint32_t flags = 0;
  bool normalized = false; ///< searched for in normalized text
  bool searched = true;    ///< false where another one has its pattern
  std::string content;
  std::string pattern;
};

/// Everything that goes into the tables.
struct Draft {
  Parameters parameters{};
  std::string continuingPrefix, decoderText;
  std::string normalizerSteps, preTokenizerSteps;
  std::vector<TemplatePiece> single, pair;
  std::vector<DraftEntry> entries; ///< by ascending id
  /// Sorted by text; the texts live as long as the JSON document.
  std::vector<std::pair<std::string_view, uint32_t>> modelTokens;
  std::vector<DraftAdded> added;
};

/// Lays the tables out. `Limit` where they would have 4 GiB or more.
Result<std::string> writeTables(Draft &draft);

} // namespace transom::tokenizer
