// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What sampling and beam search share: a prompt as it is used, and the text
// that is made of a continuation's tokens.
#pragma once
#include "runtime/generate/Generator.h"
#include "runtime/generate/ListedColumns.h"
#include "runtime/generate/StopStrings.h"
#include "runtime/tokenizer/DecodeStream.h"

namespace transom {

/// A prompt as it is used: of one that is too long the last tokens.
struct PreparedPrompt {
  /// Of the decoder: the prompt, or the start token and a target prefix.
  std::vector<int64_t> tokens;
  /// Columns of an encoder-decoder's source, its mask, and its tokens alone.
  std::vector<int64_t> source, mask, sourceTokens;
  /// The tokens that can come, ascending; empty: all.
  std::vector<int64_t> allowed;
  size_t start = 0;    ///< the first token that the sequence begins with
  int64_t mostNew = 0; ///< new tokens
  FinishReason atMost = FinishReason::Length; ///< why mostNew is the most

  /// The position after these tokens, which begin with the prompt's.
  SamplingPosition getPosition(const std::vector<int64_t> &all,
                               uint64_t continuation) const;
};

/// Checks and cuts the prompt of that index.
Result<PreparedPrompt> preparePrompt(const LogitsSource &source,
                                     const GenerationConfig &config,
                                     const GenerationPrompts &prompts,
                                     size_t index);

/// Runs a step over these sequences. Where their texts' lists say so, its rows
/// have the columns of listed tokens alone.
Result<LogitRows> stepColumns(LogitsSource &source,
                              const std::vector<NewTokens> &fed,
                              ListedColumns &columns, bool needsSums);

/// Sequences that were created and have no other owner yet. They are freed
/// unless somebody takes them, so none is lost if memory runs out in between.
class NewSequences {
public:
  explicit NewSequences(LogitsSource &source) : source(source) {}
  ~NewSequences() { freeAll(); }
  NewSequences(const NewSequences &) = delete;
  NewSequences &operator=(const NewSequences &) = delete;

  /// Takes the memory of as many sequences.
  void reserve(size_t count);
  /// Creates sequences for prompts, which have seen no token of the decoder: as
  /// many as there is room for, from the first on. `Limit` without room for
  /// any, unless they may wait.
  Result<void> create(const std::vector<const PreparedPrompt *> &prompts,
                      bool mayWait);
  bool isEmpty() const { return taken == sequences.size(); }
  /// The next sequence, which the caller owns then.
  int32_t take() { return sequences[taken++]; }
  void freeAll();

private:
  Result<void> addSources(const std::vector<const PreparedPrompt *> &prompts);
  Result<void> addSequences(size_t count);

  LogitsSource &source;
  std::vector<int32_t> sequences;
  std::vector<SourceTokens> sources; ///< of the prompts
  size_t taken = 0;                  ///< the first ones have another owner
};

/// The text of a continuation, token by token. A copy continues on its own.
class ContinuationText {
public:
  /// The last token of the prompt goes through the decoder too, so that what it
  /// does at the beginning of a text is not done in the middle; its own text is
  /// left out. After the start token of an encoder-decoder a text begins.
  static Result<ContinuationText> create(const Tokenizer &tokenizer,
                                         const GenerationConfig &config,
                                         const PreparedPrompt &prompt);

  /// Appends to `text` what is final after a token, or after none if it is
  /// negative, and all of it if the continuation ends: `finish` is not None.
  /// Returns why the continuation ends; a stop string comes first.
  FinishReason add(int64_t token, FinishReason finish, std::string &text);

private:
  ContinuationText(DecodeStream stream, StopStrings stops)
      : stream(std::move(stream)), stops(std::move(stops)) {}

  DecodeStream stream;
  StopStrings stops;
  std::string promptEnd; ///< text of the prompt that the stream still holds
  std::string delta;
};

} // namespace transom
