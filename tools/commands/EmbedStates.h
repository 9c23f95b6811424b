// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectors of the tokens of texts, of late interaction (ColBERT) or the
// hidden states of embed --tokens and --layers, as lines of JSON.
#pragma once
#include "tools/commands/Texts.h"
#include <string>
#include <vector>

namespace transom::tools {

/// The number of texts whose vectors are kept at once.
inline constexpr size_t tokenVectorBatch = 32;

/// A line for each text, with the ids of its tokens and their vectors, or those
/// of each of `layers`. Counts the texts that were cut. Without texts it tells
/// what is wrong with the model or the options.
Result<std::vector<std::string>>
getTokenLines(transom_session *session, const std::vector<std::string> &texts,
              const transom_embed_options &options,
              const std::vector<int64_t> &layers, CutTexts &cuts);

} // namespace transom::tools
