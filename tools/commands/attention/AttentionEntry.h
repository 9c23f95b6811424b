// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the entry `attention` of a model that was compiled with --attention.
#pragma once
#include "tools/commands/Models.h"
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
};

/// `Usage` unless the model has the entry.
Result<void> checkAttentionEntry(const transom_model *model,
                                 const std::string &path);

/// True for an encoder-decoder, whose weights are those of a source and a
/// target.
bool takesTarget(const transom_model *model);

/// The text of a token in the vocabulary, its id where it has none.
std::string getVocabularyText(const transom_model *model, int64_t id);

/// What the decoder reads to predict the tokens of a target: the start token,
/// then all but the last of them; or the last one first, where a family begins
/// with that. `Rejected` for an empty target and without a start token.
Result<TokenSequence> getDecoderInput(const transom_model *model,
                                      const TokenSequence &target);

/// The weights of the chosen layers and heads: of one text, or of a source and
/// a target, which is what `takesTarget` asks for; then query i of the decoder
/// predicts token i of the target. Kinds of attention that have none of the
/// chosen layers are left out. `Usage` where no kind has them.
Result<std::vector<AttentionGroup>>
runAttentionEntry(const transom_model *model, const TokenSequence &source,
                  const TokenSequence *target, const AttentionChoice &choice,
                  unsigned threads);

} // namespace transom::tools
