// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GLiNER entries: token states computed by the encoder, and span scores for
// word and type states.
#pragma once
#include "compiler/import/huggingface/blocks/Blocks.h"
#include "compiler/import/huggingface/gliner/GlinerConfig.h"

namespace transom {

/// Prefix for the encoder's tensors.
inline constexpr const char *glinerPrefix = "token_rep_layer.bert_layer.model.";

/// Max word and type count for one call of the score entry, so that the pairs
/// formed by all words or types fit in memory.
int64_t getMaxWords(const GlinerConfig &config);
inline constexpr int64_t maxEntityTypes = 32;

/// Builds the encoder's entry `encode`, whose result `token_embeddings` has the
/// head's width. Errors are recorded in the emitter.
void buildGlinerEncoder(BlockContext &context, const GlinerConfig &config);

/// Builds the score entry, `config.entities.entry`, with inputs `words` [words,
/// hidden size] and `types` [types, hidden size]. Its result `scores` is
/// [words, words, types] for spans by their first and last word, or [words,
/// types, 3] for words as start, end and inside of an entity.
void buildEntityScores(Emitter &emit, const GlinerConfig &config);

} // namespace transom
