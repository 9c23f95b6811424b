// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers with SentencePiece pieces and ids from a JSON vocabulary: the
// parts that Marian and M2M100 share.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom::tokenizer {

/// Reads a vocabulary's tokens, whose ids are contiguous and less than `idEnd`,
/// the model's id count.
Result<void> readVocabularyIds(JsonValue root, int64_t idEnd, Draft &draft);

/// Adds a model file's pieces to the vocabulary in `draft`, and the model's
/// normalization. Text is split as in SentencePiece itself. Errors start with
/// the file name.
Result<void> addVocabularyPieces(const NamedFile &file, Draft &draft);

/// Appends the decoder: spaces for U+2581, removed at both ends.
void addPieceDecoder(Draft &draft);

} // namespace transom::tokenizer
