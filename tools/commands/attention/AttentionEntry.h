// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the entry `attention` in a model that was compiled with --attention.
#pragma once
#include "tools/commands/Models.h"
#include "tools/commands/Tensors.h"
#include "tools/commands/attention/Alignment.h"

namespace transom::tools {

/// Tokens as entry arguments, and as labels.
struct TokenSequence {
  std::vector<int64_t> ids, types;
  std::vector<std::string> labels;
  std::vector<TextSpan> spans; ///< in the text; empty for given ids
};

/// Selects weights by number lists such as `0,2-5`; empty lists select all.
struct AttentionChoice {
  std::string layers, heads;
  std::string flagPrefix = "--"; ///< prefix for the flags `layers` and `heads`
  std::string kind;              ///< a single kind, such as `cross`; empty: all
};

/// The tokens in one batch row. `source` is the text. If `takesTarget` returns
/// true, `decoder` contains the decoder input; otherwise it is null.
struct AttentionTokens {
  const TokenSequence *source, *decoder;
};

/// Max batch rows in a call.
inline constexpr size_t largestAttentionBatch = 4;

/// Fails with `Usage` unless the model has the entry.
Result<void> checkAttentionEntry(const transom_model *model,
                                 const std::string &path);

/// Fails with `Usage` unless the entry has the selected layers and heads.
Result<void> checkAttentionChoice(const transom_model *model,
                                  const AttentionChoice &choice);

/// Returns true for an encoder-decoder, whose entry takes a source and a
/// target.
bool takesTarget(const transom_model *model);

/// Returns a token's vocabulary string, or its id if it has none.
std::string getVocabularyText(const transom_model *model, int64_t id);

/// Returns the decoder input that predicts a target: a start token, then all
/// but the last target token. Fails with `Rejected` for an empty target.
Result<TokenSequence> getDecoderInput(const transom_model *model, int64_t start,
                                      const TokenSequence &target);

/// Returns the start token for generation. Fails with `Rejected` if the model's
/// files specify none.
Result<int64_t> getStartToken(const transom_model *model);

/// Returns the start token for a given target: the generation start token, or
/// in some families the target's last token.
Result<int64_t> getStartToken(const transom_model *model,
                              const TokenSequence &target);

/// Runs the entry, in a session that grows with the tokens.
class AttentionRunner {
public:
  AttentionRunner(const transom_model *model, unsigned threads)
      : model(model), threads(threads) {}

  /// Returns the selected weights for each row. Attention kinds without
  /// selected layers are omitted. Fails with `Usage` if no kind has them.
  /// Batches with several rows, at most `largestAttentionBatch`, require an
  /// encoder or an encoder-decoder.
  Result<std::vector<std::vector<AttentionGroup>>>
  run(const std::vector<AttentionTokens> &batch, const AttentionChoice &choice);

private:
  Result<void> prepare(const std::vector<transom_tensor> &inputs);
  Result<OutputTensors> runInputs(const std::vector<transom_tensor> &inputs);

  const transom_model *model;
  unsigned threads;
  SessionPtr session;
  /// Input sizes that the session was created for.
  int64_t rows = 0;
  std::vector<int64_t> lengths;
};

} // namespace transom::tools
