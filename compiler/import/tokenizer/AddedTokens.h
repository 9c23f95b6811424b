// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens added to a model's vocabulary.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "runtime/json/Json.h"
#include <optional>
#include <string>
#include <vector>

namespace transom::tokenizer {

/// A token to add, as files describe it.
struct AddedElement {
  std::string content;
  std::optional<uint32_t> id; ///< that the file gives it
  bool special = false;
  bool singleWord = false, leftStrip = false, rightStrip = false;
  bool normalized = false;
  std::optional<JsonValue> value; ///< where it is described, for errors
};

/// Adds tokens in order; `draft` has model and normalizer. Ids are given as
/// Hugging Face's tokenizers gives them: that of the model's vocabulary, else
/// the next one after it; a note where the file says another one.
Result<void> addTokens(const std::vector<AddedElement> &elements, Draft &draft,
                       std::vector<std::string> &notes);

/// The array `added_tokens` of tokenizer.json.
Result<std::vector<AddedElement>>
readAddedElements(std::optional<JsonValue> value);

} // namespace transom::tokenizer
