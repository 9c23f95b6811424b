// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the entry `attention` of a model that was compiled with --attention.
#pragma once
#include "tools/commands/Models.h"
#include "tools/commands/Tensors.h"
#include "tools/commands/attention/Alignment.h"

namespace transom::tools {

/// Tokens as arguments of the entry, and as labels.
struct TokenSequence {
  std::vector<int64_t> ids, types;
  std::vector<std::string> labels;
  std::vector<TextSpan> spans; ///< of the text; none for given ids
};

/// Which weights are taken: lists of numbers such as `0,2-5`, all for an empty
/// one.
struct AttentionChoice {
  std::string layers, heads;
  std::string flagPrefix = "--"; ///< of the flags, before `layers` and `heads`
  std::string kind;              ///< the only one, such as `cross`; empty: all
};

/// The tokens of one row of a batch: of a text, or of a source and what the
/// decoder reads, which is what `takesTarget` asks for; else null.
struct AttentionTokens {
  const TokenSequence *source, *decoder;
};

/// The rows of a batch that the entry takes at most.
inline constexpr size_t largestAttentionBatch = 4;

/// `Usage` unless the model has the entry.
Result<void> checkAttentionEntry(const transom_model *model,
                                 const std::string &path);

/// `Usage` unless the entry has the chosen layers and heads.
Result<void> checkAttentionChoice(const transom_model *model,
                                  const AttentionChoice &choice);

/// True for an encoder-decoder, whose weights are those of a source and a
/// target.
bool takesTarget(const transom_model *model);

/// The text of a token in the vocabulary, its id where it has none.
std::string getVocabularyText(const transom_model *model, int64_t id);

/// What the decoder reads to predict the tokens of a target: a start token,
/// then all but the last of them. `Rejected` for an empty target.
Result<TokenSequence> getDecoderInput(const transom_model *model, int64_t start,
                                      const TokenSequence &target);

/// The start token of generation. `Rejected` if the model's files name none.
Result<int64_t> getStartToken(const transom_model *model);

/// The token that a given target begins with: that of generation, or in some
/// families the target's last one.
Result<int64_t> getStartToken(const transom_model *model,
                              const TokenSequence &target);

/// Runs the entry, with a session that grows with the tokens.
class AttentionRunner {
public:
  AttentionRunner(const transom_model *model, unsigned threads)
      : model(model), threads(threads) {}

  /// The weights of the chosen layers and heads, for each row. Kinds of
  /// attention that have none of the chosen layers are left out. `Usage` where
  /// no kind has them. Several rows, at most `largestAttentionBatch`, are those
  /// of an encoder or of an encoder-decoder.
  Result<std::vector<std::vector<AttentionGroup>>>
  run(const std::vector<AttentionTokens> &batch, const AttentionChoice &choice);

private:
  Result<void> prepare(const std::vector<transom_tensor> &inputs);
  Result<OutputTensors> runInputs(const std::vector<transom_tensor> &inputs);

  const transom_model *model;
  unsigned threads;
  SessionPtr session;
  /// Of the inputs that the session is made for.
  int64_t rows = 0;
  std::vector<int64_t> lengths;
};

} // namespace transom::tools
