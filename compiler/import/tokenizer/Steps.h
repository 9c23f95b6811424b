// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the parts of tokenizer.json that become lists of steps or pieces.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/json/Json.h"
#include "runtime/tokenizer/Normalizer.h"
#include <functional>

namespace transom::tokenizer {

/// `normalizer`: appends its steps.
Result<void> readNormalizer(JsonValue value, Draft &draft);
/// Appends a step of the normalizer, or a stage of the decoder.
Step &addStep(Draft &draft, NormalizerStep kind);
Step &addStep(Draft &draft, DecoderStep kind);
/// Appends the step of a normalizer Precompiled with the map of some bytes.
Result<void> addCharacterMap(std::string_view bytes, Draft &draft);
/// The bytes of the first character map among the steps of a normalizer; empty
/// without one.
Result<std::string> findCharacterMap(std::optional<JsonValue> normalizer);
/// Puts a step before the others that makes text lower case, unless one does.
void addLowercase(Draft &draft);
/// `pre_tokenizer`: appends its steps.
Result<void> readPreTokenizer(JsonValue value, Draft &draft);
/// `post_processor`: its templates for one text and for two, and whether
/// offsets are trimmed.
Result<void> readPostProcessor(std::optional<JsonValue> value, Draft &draft);
/// When a Metaspace puts its character before a text.
enum class PrependScheme : uint32_t { Always = 1, First, Never };
/// `prepend_scheme`, or `add_prefix_space` as older files have it.
Result<PrependScheme> readPrependScheme(JsonValue value);
/// `decoder`: its stages; one that is not supported is left to `decode` to
/// name.
Result<void> readDecoder(std::optional<JsonValue> value, Draft &draft);
/// Lets the decoder drop spaces before punctuation where the settings say it
/// (`clean_up_tokenization_spaces`); after the stages of the class. `isPython`
/// tells the classes that are not of `tokenizers`.
Result<void> addCleanUp(const TokenizerSettings &settings, Draft &draft,
                        bool isPython = false);
/// `truncation`.
Result<void> readTruncation(std::optional<JsonValue> value,
                            Parameters &parameters);

/// The member `type` of an object.
Result<std::string_view> readType(JsonValue value);
/// A member that is a text.
Result<std::string_view> readText(JsonValue object, std::string_view key);
/// A member that is a text of one character.
Result<std::string_view> readCharacter(JsonValue object, std::string_view key);
/// A member that is true or false; where it is absent, `fallback`, or an error
/// without one.
Result<bool> readFlag(JsonValue object, std::string_view key,
                      std::optional<bool> fallback = std::nullopt);
/// The index, from 1, of the text `key` among `names`; where it is absent or
/// null, `fallback`, or an error without one.
Result<uint32_t> readName(JsonValue object, std::string_view key,
                          const std::vector<const char *> &names,
                          std::optional<uint32_t> fallback = std::nullopt);
/// The program of a `pattern`.
Result<std::string> readPattern(JsonValue object);
/// Calls `read` with each element of the array `key`.
Result<void> readEach(JsonValue object, std::string_view key,
                      const std::function<Result<void>(JsonValue)> &read);
/// `unsupported WHAT 'NAME'; supported: ...` at `value`.
Error unsupportedType(JsonValue value, const std::string &what,
                      std::string_view name, const std::string &supported);

} // namespace transom::tokenizer
