// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by sampling and beam search: a prepared prompt, and the text decoded
// from a continuation's tokens.
#pragma once
#include "runtime/generate/Generator.h"
#include "runtime/generate/ListedColumns.h"
#include "runtime/generate/StopStrings.h"
#include "runtime/tokenizer/DecodeStream.h"

namespace transom {

/// A prepared prompt: if it is too long, only its last tokens.
struct PreparedPrompt {
  /// Decoder tokens: the prompt, or the start token and a target prefix.
  std::vector<int64_t> tokens;
  /// For an encoder-decoder: source columns, source mask, and source tokens
  /// without padding.
  std::vector<int64_t> source, mask, sourceTokens;
  /// The allowed tokens, ascending; empty: all.
  std::vector<int64_t> allowed;
  size_t start = 0;    ///< offset of the sequence's first token
  int64_t mostNew = 0; ///< max new token count
  FinishReason atMost = FinishReason::Length; ///< reason for the limit mostNew

  /// Returns the position after these tokens, which begin with the prompt's.
  SamplingPosition getPosition(const std::vector<int64_t> &all,
                               uint64_t continuation) const;
};

/// Checks and truncates the prompt at `index`.
Result<PreparedPrompt> preparePrompt(const LogitsSource &source,
                                     const GenerationConfig &config,
                                     const GenerationPrompts &prompts,
                                     size_t index);

/// Runs a step over these sequences. If all of them restrict their tokens and
/// the columns fit, the rows contain only the selected columns.
Result<LogitRows> stepColumns(LogitsSource &source,
                              const std::vector<NewTokens> &fed,
                              ListedColumns &columns, bool needsSums);

/// Newly created sequences without another owner. They are freed unless they
/// are taken, so none leaks if memory runs out in between.
class NewSequences {
public:
  explicit NewSequences(LogitsSource &source) : source(source) {}
  ~NewSequences() { freeAll(); }
  NewSequences(const NewSequences &) = delete;
  NewSequences &operator=(const NewSequences &) = delete;

  /// Allocates memory for `count` sequences.
  void reserve(size_t count);
  /// Creates sequences for prompts, which have seen no decoder token, for as
  /// many prompts as there is room for, in order. `Limit` without room for any,
  /// unless `mayWait` is set.
  Result<void> create(const std::vector<const PreparedPrompt *> &prompts,
                      bool mayWait);
  bool isEmpty() const { return taken == sequences.size(); }
  /// Returns the next sequence, which the caller then owns.
  int32_t take() { return sequences[taken++]; }
  void freeAll();

private:
  Result<void> addSources(const std::vector<const PreparedPrompt *> &prompts);
  Result<void> addSequences(size_t count);

  LogitsSource &source;
  std::vector<int32_t> sequences;
  std::vector<SourceTokens> sources; ///< the prompts' sources
  size_t taken = 0;                  ///< number of sequences with another owner
};

/// A continuation's text, token by token. A copy continues independently.
class ContinuationText {
public:
  /// Also decodes the last prompt token, so that decoder rules for the start of
  /// a text are not applied in the middle; its own text is omitted. After an
  /// encoder-decoder's start token a new text begins.
  static Result<ContinuationText> create(const Tokenizer &tokenizer,
                                         const GenerationConfig &config,
                                         const PreparedPrompt &prompt);

  /// Appends to `text` the characters that are final after a token (none if it
  /// is negative), and all remaining ones if the continuation ends, that is if
  /// `finish` is not None. Returns the finish reason; a stop string takes
  /// precedence.
  FinishReason add(int64_t token, FinishReason finish, std::string &text);

private:
  ContinuationText(DecodeStream stream, StopStrings stops)
      : stream(std::move(stream)), stops(std::move(stops)) {}

  DecodeStream stream;
  StopStrings stops;
  std::string promptEnd; ///< prompt text that the stream still holds
  std::string delta;
};

} // namespace transom
