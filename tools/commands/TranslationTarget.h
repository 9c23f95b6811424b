// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the results of `translate` begin: with the token of the target language
// and with a given prefix; and how many results a line has.
#pragma once
#include "runtime/generate/GenerationConfig.h"
#include "tools/commands/GenerationFlags.h"

namespace transom::tools {

/// The options of a generation of translations.
class TranslationTarget {
public:
  /// What the flags of the command ask for.
  struct Request {
    std::string language; ///< empty: as the model's files say
    bool hasPrefixes = false;
    bool scores = false;
  };

  /// `flags` is finished and outlives the result. `Usage` for a language that
  /// the model does not know.
  static Result<TranslationTarget> create(const transom_model *model,
                                          const Manifest &manifest,
                                          const GenerationFlags &flags,
                                          const Request &request);

  /// Without prefixes, callback and sources.
  const transom_generate_options *getOptions() const { return &options; }
  bool hasPrefixes() const { return prefixes; }
  /// Results of each line.
  size_t getResults() const { return size_t(config.numReturnSequences); }
  /// Beams of each line; 1 without beam search.
  size_t getBeams() const { return size_t(config.numBeams); }
  /// The token that targets begin with, where the flags or the model's files
  /// name one.
  std::optional<int64_t> getStart() const { return config.getTargetStart(); }
  /// The score of a result: that of its beam, or from its log-probabilities;
  /// NaN without both.
  double getScore(const transom_continuation &continuation) const;

  /// The tokens of a prefix, which follow the decoder's start token; none for
  /// an empty text. `Rejected` for a text with a token that the model does not
  /// know.
  Result<std::vector<int64_t>> getPrefix(const transom_model *model,
                                         const std::string &text) const;
  /// The text of such tokens without special ones.
  Result<std::string> getText(const transom_model *model,
                              const std::vector<int64_t> &prefix) const;

private:
  Result<void> setLanguage(const transom_model *model,
                           const std::string &language);

  transom_generate_options options;
  GenerationConfig config; ///< of the flags and the model's files, resolved
  bool prefixes = false;
};

} // namespace transom::tools
