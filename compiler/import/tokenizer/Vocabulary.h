// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the model's vocabulary.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "runtime/json/Json.h"
#include <string>
#include <vector>

namespace transom::tokenizer {

/// `model`: kind, parameters, tokens. `Unsupported` for an unsupported kind.
Result<void> readModel(JsonValue model, Draft &draft);

/// Returns a model's `type`; if absent, as in old files, it is derived from the
/// keys.
Result<std::string_view> readModelType(JsonValue model);

/// A `model` with type BPE.
Result<void> readBpe(JsonValue model, Draft &draft);
/// Reads a BPE model's merges; its tokens and options have been read.
Result<void> readMerges(JsonValue model, Draft &draft);
/// Reads the merges in a merges.txt, one per line: two tokens separated by a
/// space. Lines that begin with `#version` are ignored. `name` is the file name
/// in errors, which contain the line number.
Result<void> readMergeLines(std::string_view text, const std::string &name,
                            Draft &draft);
/// A `model` with type Unigram.
Result<void> readUnigram(JsonValue model, Draft &draft);
/// Reads its tokens and scores, by id.
Result<void> readScoredTokens(JsonValue model, Draft &draft);
/// Completes a Unigram model whose entries, tokens and scores are in id order:
/// sorts the tokens by string, and adds the score for an unknown character,
/// which is lower than the least score: the minimum over all tokens, or the
/// given one.
void finishScores(Draft &draft,
                  std::optional<double> leastScore = std::nullopt);
/// The tokens `<0x00>` to `<0xFF>`.
void addByteTokens(Draft &draft);
/// `vocab`: entries, sorted by id, and tokens, sorted by text.
Result<void> readTokens(JsonValue vocabulary, Draft &draft);
/// Returns the id of a model token, or null.
const uint32_t *findToken(const Draft &draft, std::string_view text);
/// Quotes a token for errors.
std::string quoted(std::string_view text);

} // namespace transom::tokenizer
