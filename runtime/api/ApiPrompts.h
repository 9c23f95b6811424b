// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prompt tokens; callers pass ids or texts.
#pragma once
#include "runtime/api/ApiSupport.h"
#include <vector>

namespace transom::api {

/// Returns each prompt's tokens; texts are tokenized with the options `how`.
/// `name` describes a prompt in errors. A prompt without ids and text has no
/// tokens unless the tokenizer adds some. Errors: `Usage` (NULL with a size),
/// `Rejected` (not UTF-8), `Unsupported` (a text for a model without a
/// tokenizer).
Result<std::vector<std::vector<int64_t>>>
getPromptTokens(const Model &model, const char *name,
                const transom_prompt *prompts, size_t count,
                const transom_tokenize_options &how);

/// Returns the tokens for encoder-decoder sources, with special tokens.
Result<std::vector<std::vector<int64_t>>>
getSourceTokens(const Model &model, const transom_prompt *sources,
                size_t count);

} // namespace transom::api
