// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aligns the words of translations that a model generates.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/attention/AttentionEntry.h"

namespace transom::tools {

/// The bytes of the text of each of these ids, the text of all of which begins
/// with those of the first ones. Special tokens have no bytes.
Result<std::vector<TextSpan>> findSpans(const transom_model *model,
                                        const std::vector<int64_t> &ids);

/// Whether words are aligned, and by which layers and heads.
struct AlignmentFlags {
  bool on = false;
  AttentionChoice choice;
};
/// Adds `--alignments`, `--alignment-layers` and `--alignment-heads`.
void addAlignmentFlags(CLI::App &app, AlignmentFlags &flags);

/// A source and what a model makes of it.
struct AlignmentTask {
  const std::string *text;                  ///< of the source
  const std::vector<transom_token> *tokens; ///< of the text
  std::vector<int64_t> ids; ///< of the target, after the start token
  /// Its alignment, by the mean of the chosen layers and heads. Without ids the
  /// target has no words.
  std::optional<Alignment> result;
  std::optional<Error> error; ///< in place of the result: too many tokens
};

/// Aligns the words of sources and of what a model makes of them.
class WordAligner {
public:
  /// `start` is the decoder's first token, which there has to be. `Usage`
  /// unless the model, an encoder-decoder, was compiled with --attention, and
  /// its decoder has the chosen layers and heads.
  static Result<WordAligner> create(const transom_model *model,
                                    const std::string &path,
                                    const AlignmentFlags &flags,
                                    std::optional<int64_t> start,
                                    unsigned threads);

  /// Gives each task its result or error. Tasks that follow each other are
  /// computed together, so they are best of similar length.
  Result<void> alignAll(std::vector<AlignmentTask> &tasks);

private:
  WordAligner(const transom_model *model, const AttentionChoice &choice,
              int64_t start, unsigned threads)
      : model(model), choice(choice), start(start), runner(model, threads) {}

  /// What the entry gets, and what words the tokens of a task belong to.
  struct Prepared {
    TokenSequence source, decoder;
    TokenWords sourceWords, targetWords;
  };
  Result<Prepared> prepare(const AlignmentTask &task) const;
  Result<void> align(const std::vector<AlignmentTask *> &tasks);

  const transom_model *model;
  AttentionChoice choice;
  int64_t start; ///< the decoder's first token
  AttentionRunner runner;
};

/// Pairs as `0-0 2-1`, separated by spaces.
std::string formatPairs(const std::vector<WordPair> &pairs);

} // namespace transom::tools
