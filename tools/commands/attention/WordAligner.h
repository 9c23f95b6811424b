// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aligns words in generated translations.
#pragma once
#include "tools/commands/Command.h"
#include "tools/commands/attention/AttentionEntry.h"

namespace transom::tools {

/// Returns each id's byte range in the decoded text. A prefix of the ids must
/// decode to a prefix of the text. Special tokens have empty ranges.
Result<std::vector<TextSpan>> findSpans(const transom_model *model,
                                        const std::vector<int64_t> &ids);

/// Enables word alignment and selects its layers and heads.
struct AlignmentFlags {
  bool on = false;
  AttentionChoice choice;
};
/// Adds `--alignments`, `--alignment-layers` and `--alignment-heads`.
void addAlignmentFlags(CLI::App &app, AlignmentFlags &flags);

/// A source and its generated target.
struct AlignmentTask {
  const std::string *text;                  ///< the source
  const std::vector<transom_token> *tokens; ///< the source's tokens
  std::vector<int64_t> ids; ///< the target's ids, after the start token
  /// The alignment by the mean over the selected layers and heads. Without ids
  /// the target has no words.
  std::optional<Alignment> result;
  std::optional<Error> error; ///< in place of the result: too many tokens
};

/// Aligns source words with generated target words.
class WordAligner {
public:
  /// `start` is the decoder's first token, which is required. Fails with
  /// `Usage` unless the model, an encoder-decoder, was compiled with
  /// --attention and its decoder has the selected layers and heads.
  static Result<WordAligner> create(const transom_model *model,
                                    const std::string &path,
                                    const AlignmentFlags &flags,
                                    std::optional<int64_t> start,
                                    unsigned threads);

  /// Sets the result or error for each task. Consecutive tasks are computed
  /// together, so they should have similar lengths.
  Result<void> alignAll(std::vector<AlignmentTask> &tasks);

private:
  WordAligner(const transom_model *model, const AttentionChoice &choice,
              int64_t start, unsigned threads)
      : model(model), choice(choice), start(start), runner(model, threads) {}

  /// Entry inputs for a task, and the words that its tokens belong to.
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

/// Formats pairs as `0-0 2-1`, separated by spaces.
std::string formatPairs(const std::vector<WordPair> &pairs);

} // namespace transom::tools
