// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The beginning of results in `translate`, namely the target language token and
// a given prefix, and the number of results per line.
#pragma once
#include "runtime/generate/GenerationConfig.h"
#include "tools/commands/generate/GenerationFlags.h"

namespace transom::tools {

/// Generation options for translations.
class TranslationTarget {
public:
  /// Settings from the command's flags.
  struct Request {
    std::string language; ///< empty: from the model's files
    bool hasPrefixes = false;
    bool scores = false;
  };

  /// `flags` must be finished and outlive the result. Fails with `Usage` for a
  /// language that the model does not know.
  static Result<TranslationTarget> create(const transom_model *model,
                                          const Manifest &manifest,
                                          const GenerationFlags &flags,
                                          const Request &request);

  /// Returns the options without prefixes, callback and sources.
  const transom_generate_options *getOptions() const { return &options; }
  bool hasPrefixes() const { return prefixes; }
  /// Returns the number of results per line.
  size_t getResults() const { return size_t(config.numReturnSequences); }
  /// Returns the beam count per line; 1 without beam search.
  size_t getBeams() const { return size_t(config.numBeams); }
  /// Returns the token that targets begin with, if the flags or the model's
  /// files name one.
  std::optional<int64_t> getStart() const { return config.getTargetStart(); }
  /// Returns a result's score, from its beam or its log-probabilities; NaN
  /// without both.
  double getScore(const transom_continuation &continuation) const;

  /// Returns the tokens for a prefix, which follow the decoder's start token;
  /// empty for an empty text. Fails with `Rejected` for a text with unknown
  /// tokens.
  Result<std::vector<int64_t>> getPrefix(const transom_model *model,
                                         const std::string &text) const;
  /// Returns the text for such tokens without special ones.
  Result<std::string> getText(const transom_model *model,
                              const std::vector<int64_t> &prefix) const;

private:
  Result<void> setLanguage(const transom_model *model,
                           const std::string &language);

  transom_generate_options options;
  GenerationConfig config; ///< from the flags and the model's files, resolved
  bool prefixes = false;
};

} // namespace transom::tools
