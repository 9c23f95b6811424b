// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tokenizer.json means, in memory, and its layout as tables.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <deque>
#include <string>
#include <vector>

namespace transom::tokenizer {

/// A token as `decode` shows it.
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
  bool searched = true;    ///< false where another one has its pattern
  std::string content;
  std::string pattern; ///< what is searched for in the text
  std::string shown;   ///< what it is when it is decoded
};

/// A merge of two tokens; those later in the list have a higher rank.
struct DraftMerge {
  uint32_t left, right, result;
  /// It has the rank of the one before it, which makes the same token.
  bool sameRank = false;
};

/// A language and its token.
struct DraftLanguage {
  std::string name;
  uint32_t id;
};

/// Everything that goes into the tables.
struct Draft {
  Parameters parameters{};
  std::string continuingPrefix, wordSuffix;
  std::vector<Step> normalizerSteps, preTokenizerSteps, decoderSteps;
  std::string stepTexts; ///< what the steps refer to
  std::vector<TemplateItem> single, pair;
  std::vector<DraftMerge> merges;
  std::vector<uint32_t> byteTokens; ///< of all bytes, or none
  std::vector<double> scores;       ///< of each id and of an unknown character
  std::vector<DraftEntry> entries;  ///< by ascending id
  /// Sorted by text; the texts live as long as the files, or are in `ownTexts`.
  std::vector<std::pair<std::string_view, uint32_t>> modelTokens;
  std::deque<std::string> ownTexts;
  std::vector<DraftAdded> added;
  std::vector<DraftLanguage> languages; ///< sorted by name
  std::string target; ///< tables for the target language, if they differ

  /// Keeps a text for a step.
  TextRef addStepText(std::string_view text) {
    TextRef ref{static_cast<uint32_t>(stepTexts.size()),
                static_cast<uint32_t>(text.size())};
    stepTexts += text;
    return ref;
  }
};

/// Lays the tables out. `Limit` where they would have 4 GiB or more, `Rejected`
/// where the ids of merges were chosen to make the search for them slow.
Result<std::string> writeTables(Draft &draft);

} // namespace transom::tokenizer
