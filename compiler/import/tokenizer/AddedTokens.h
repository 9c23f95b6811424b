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

/// A token to add, as described in files.
struct AddedElement {
  std::string content;
  std::optional<uint32_t> id; ///< specified in the file
  bool special = false;
  bool singleWord = false, leftStrip = false, rightStrip = false;
  bool normalized = false;
  std::optional<JsonValue> value; ///< location of the description, for errors
};

/// Adds tokens in order; `draft` has model and normalizer. Ids are assigned as
/// in Hugging Face's tokenizers: the id in the model's vocabulary, else the
/// next free id; causes a note if the file specifies another one.
Result<void> addTokens(const std::vector<AddedElement> &elements, Draft &draft,
                       std::vector<std::string> &notes);

/// Reads the array `added_tokens` in tokenizer.json.
Result<std::vector<AddedElement>>
readAddedElements(std::optional<JsonValue> value);

} // namespace transom::tokenizer
