// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-memory form of a tokenizer.json, and its table layout.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <deque>
#include <string>
#include <vector>

namespace transom::tokenizer {

/// A token as returned by `decode`.
struct DraftEntry {
  uint32_t id = 0;
  std::string text;
  bool special = false;
};

/// An added token.
struct DraftAdded {
  uint32_t id = 0;
  uint32_t flags = 0;
  bool normalized = false; ///< searched for in normalized text
  bool searched = true;    ///< false if another one has its pattern
  std::string content;
  std::string pattern; ///< string searched for in the text
  std::string shown;   ///< decoded string
};

/// A merge of two tokens; later merges have a higher rank.
struct DraftMerge {
  uint32_t left, right, result;
  /// It has the same rank as the previous one, which creates the same token.
  bool sameRank = false;
};

/// A language and its token.
struct DraftLanguage {
  std::string name;
  uint32_t id;
};

/// All data in the tables.
struct Draft {
  Parameters parameters{};
  std::string continuingPrefix, wordSuffix;
  std::vector<Step> normalizerSteps, preTokenizerSteps, decoderSteps;
  std::string stepTexts; ///< strings used by the steps
  std::vector<TemplateItem> single, pair;
  std::vector<DraftMerge> merges;
  std::vector<uint32_t> byteTokens; ///< for all bytes, or empty
  std::vector<double> scores;       ///< for each id and an unknown character
  std::vector<DraftEntry> entries;  ///< in ascending id order
  /// Sorted by string; the strings live as long as the files, or are in
  /// `ownTexts`.
  std::vector<std::pair<std::string_view, uint32_t>> modelTokens;
  std::deque<std::string> ownTexts;
  std::vector<DraftAdded> added;
  std::vector<DraftLanguage> languages; ///< sorted by name
  std::string target; ///< tables for the target language, if they differ

  /// Stores a string for a step.
  TextRef addStepText(std::string_view text) {
    TextRef ref{static_cast<uint32_t>(stepTexts.size()),
                static_cast<uint32_t>(text.size())};
    stepTexts += text;
    return ref;
  }
};

/// Writes the tables. `Limit` if they would have 4 GiB or more, `Rejected` if
/// merge ids were chosen to make the merge lookup slow.
Result<std::string> writeTables(Draft &draft);

} // namespace transom::tokenizer
