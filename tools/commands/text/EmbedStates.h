// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token vectors as JSON lines: late interaction (ColBERT) or hidden states, for
// embed --tokens and --layers.
#pragma once
#include "tools/commands/text/Texts.h"
#include <string>
#include <vector>

namespace transom::tools {

/// Texts per call, whose vectors are in memory at the same time.
inline constexpr size_t tokenVectorBatch = 32;

/// Returns a line for each text with its token ids and vectors, or with vectors
/// for each of `layers`. Counts truncated texts. Without texts it only reports
/// errors about the model or the options.
Result<std::vector<std::string>>
getTokenLines(transom_session *session, const std::vector<std::string> &texts,
              const transom_embed_options &options,
              const std::vector<int64_t> &layers, CutTexts &cuts);

} // namespace transom::tools
