// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a GLiNER model: states of tokens by its encoder, and scores of
// spans from the states of words and types.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"
#include "compiler/import/huggingface/gliner/GlinerConfig.h"

namespace transom {

/// The prefix of the encoder's tensors.
inline constexpr const char *glinerPrefix = "token_rep_layer.bert_layer.model.";

/// The largest numbers of words and of types of one call of the entry of
/// scores, so that the pairs of all words or types fit in memory.
int64_t getMaxWords(const GlinerConfig &config);
inline constexpr int64_t maxEntityTypes = 32;

/// Builds the encoder's entry `encode`, whose result `token_embeddings` has the
/// width of the head. Errors are the emitter's.
void buildGlinerEncoder(BlockContext &context, const GlinerConfig &config);

/// Builds the entry of scores, `config.entities.entry`: of `words` [words,
/// hidden size] and `types` [types, hidden size]. Its result `scores` is
/// [words, words, types], of spans by their first and last word, or [words,
/// types, 3], of words as the start, the end and the inside of an entity.
void buildEntityScores(Emitter &emit, const GlinerConfig &config);

} // namespace transom
