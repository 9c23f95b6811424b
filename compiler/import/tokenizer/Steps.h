// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the parts of tokenizer.json that become lists of steps or pieces.
#pragma once
#include "compiler/import/tokenizer/TablesWriter.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/json/Json.h"
#include "runtime/tokenizer/Normalizer.h"
#include <functional>

namespace transom::tokenizer {

/// `normalizer`: appends its steps.
Result<void> readNormalizer(JsonValue value, Draft &draft);
/// Appends a normalizer step or a decoder stage.
Step &addStep(Draft &draft, NormalizerStep kind);
Step &addStep(Draft &draft, DecoderStep kind);
/// Appends a Precompiled normalizer step with the map in `bytes`.
Result<void> addCharacterMap(std::string_view bytes, Draft &draft);
/// Returns the first character map in a normalizer's steps; empty without one.
Result<std::string> findCharacterMap(std::optional<JsonValue> normalizer);
/// Prepends a step that converts text to lower case, unless there is one.
void addLowercase(Draft &draft);
/// `pre_tokenizer`: appends its steps.
Result<void> readPreTokenizer(JsonValue value, Draft &draft);
/// `post_processor`: its templates for one and two texts, and whether offsets
/// are trimmed.
Result<void> readPostProcessor(std::optional<JsonValue> value, Draft &draft);
/// Condition for a Metaspace to prepend its character to a text.
enum class PrependScheme : uint32_t { Always = 1, First, Never };
/// `prepend_scheme`, or `add_prefix_space` in older files.
Result<PrependScheme> readPrependScheme(JsonValue value);
/// `decoder`: its stages; `decode` reports an unsupported one.
Result<void> readDecoder(std::optional<JsonValue> value, Draft &draft);
/// Lets the decoder remove spaces before punctuation, after the class's stages,
/// if the settings specify it (`clean_up_tokenization_spaces`). `isPython`
/// marks classes that are not based on `tokenizers`.
Result<void> addCleanUp(const TokenizerSettings &settings, Draft &draft,
                        bool isPython = false);
/// `truncation`.
Result<void> readTruncation(std::optional<JsonValue> value,
                            Parameters &parameters);

/// Reads an object's member `type`.
Result<std::string_view> readType(JsonValue value);
/// Reads a string member.
Result<std::string_view> readText(JsonValue object, std::string_view key);
/// Reads a member that is a string with one character.
Result<std::string_view> readCharacter(JsonValue object, std::string_view key);
/// Reads a boolean member; if absent, returns `fallback`, or an error without
/// one.
Result<bool> readFlag(JsonValue object, std::string_view key,
                      std::optional<bool> fallback = std::nullopt);
/// Returns the index, from 1, of the string `key` in `names`; if absent or
/// null, `fallback`, or an error without one.
Result<uint32_t> readName(JsonValue object, std::string_view key,
                          const std::vector<const char *> &names,
                          std::optional<uint32_t> fallback = std::nullopt);
/// Compiles a `pattern`.
Result<std::string> readPattern(JsonValue object);
/// Calls `read` with each element in the array `key`.
Result<void> readEach(JsonValue object, std::string_view key,
                      const std::function<Result<void>(JsonValue)> &read);
/// Returns the error `unsupported WHAT 'NAME'; supported: ...` at `value`.
Error unsupportedType(JsonValue value, const std::string &what,
                      std::string_view name, const std::string &supported);

} // namespace transom::tokenizer
