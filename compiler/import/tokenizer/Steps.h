// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the parts of tokenizer.json that become lists of steps or pieces.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "runtime/support/Json.h"

namespace transom::tokenizer {

/// `normalizer`: appends its steps.
Result<void> readNormalizer(JsonValue value, std::string &steps);
/// `pre_tokenizer`: appends its steps.
Result<void> readPreTokenizer(JsonValue value, std::string &steps);
/// `post_processor`: its templates for one text and for two.
Result<void> readPostProcessor(std::optional<JsonValue> value, Draft &draft);
/// `decoder`; one that is not built is left to `decode` to name.
Result<void> readDecoder(std::optional<JsonValue> value, Draft &draft);
/// `truncation`.
Result<void> readTruncation(std::optional<JsonValue> value,
                            Parameters &parameters);

/// The member `type` of an object.
Result<std::string_view> readType(JsonValue value);
/// `unsupported WHAT 'NAME'; supported: ...` at `value`.
Error unsupportedType(JsonValue value, const std::string &what,
                      std::string_view name, const std::string &supported);

} // namespace transom::tokenizer
