// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `transom score --target`: log-probabilities for given encoder-decoder
// targets.
#pragma once
#include "tools/commands/text/Texts.h"

namespace transom::tools {

/// Texts to score.
struct TargetTexts {
  const TextInput &sources;
  std::string path; ///< targets file: one line per source
  Languages languages;
  bool noSpecial = false;
};

/// Prints a JSON line with each target's log-probabilities, given its source.
Result<void> scoreTargets(const TargetTexts &texts, const CommonFlags &common,
                          const TextModel &model);

} // namespace transom::tools
