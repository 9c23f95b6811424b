// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers whose pieces are those of a SentencePiece model, with ids of a
// vocabulary in JSON: the parts that Marian's and M2M100's have in common.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom::tokenizer {

/// Reads the tokens of a vocabulary, whose ids have no holes and are below
/// `idEnd`, the number of ids that the model has.
Result<void> readVocabularyIds(JsonValue root, int64_t idEnd, Draft &draft);

/// Adds the pieces of a model file to the vocabulary in `draft`, and the
/// model's normalization. Text is cut as SentencePiece itself does it. Errors
/// begin with the file's name.
Result<void> addVocabularyPieces(const NamedFile &file, Draft &draft);

/// Appends the decoder: spaces for U+2581, none at both ends.
void addPieceDecoder(Draft &draft);

} // namespace transom::tokenizer
