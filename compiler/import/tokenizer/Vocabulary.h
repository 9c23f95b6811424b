// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of the model.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "runtime/json/Json.h"
#include <string>
#include <vector>

namespace transom::tokenizer {

/// `model`: kind, parameters, tokens. `Unsupported` for a kind that is not
/// built.
Result<void> readModel(JsonValue model, Draft &draft);

/// `type` of a model; one without it, as old files have it, is told by its
/// keys.
Result<std::string_view> readModelType(JsonValue model);

/// `model` of type BPE.
Result<void> readBpe(JsonValue model, Draft &draft);
/// The merges of a model of type BPE whose tokens and options have been read.
Result<void> readMerges(JsonValue model, Draft &draft);
/// The merges of a merges.txt, one a line: two tokens with a space between
/// them. Lines that begin with `#version` do not count. `name` is the file's in
/// errors, which have the number of the line.
Result<void> readMergeLines(std::string_view text, const std::string &name,
                            Draft &draft);
/// `model` of type Unigram.
Result<void> readUnigram(JsonValue model, Draft &draft);
/// Its tokens and scores, by id.
Result<void> readScoredTokens(JsonValue model, Draft &draft);
/// Completes a Unigram model whose entries, tokens and scores are by id: sorts
/// the tokens by text, and adds the score of an unknown character, which is
/// lower than the least score: that of all tokens, or the given one.
void finishScores(Draft &draft,
                  std::optional<double> leastScore = std::nullopt);
/// The tokens `<0x00>` to `<0xFF>`.
void addByteTokens(Draft &draft);
/// `vocab`: entries, sorted by id, and tokens, sorted by text.
Result<void> readTokens(JsonValue vocabulary, Draft &draft);
/// The id of a token of the model, or null.
const uint32_t *findToken(const Draft &draft, std::string_view text);
/// A token as errors show it.
std::string quoted(std::string_view text);

} // namespace transom::tokenizer
