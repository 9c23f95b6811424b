// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `transom score --target`: log-probabilities of given targets of an
// encoder-decoder.
#pragma once
#include "tools/commands/Texts.h"

namespace transom::tools {

/// What is scored.
struct TargetTexts {
  const TextInput &sources;
  std::string path; ///< of the targets: one line for each source
  Languages languages;
  bool noSpecial = false;
};

/// Prints a line of JSON with the log-probabilities of each target, given its
/// source.
Result<void> scoreTargets(const TargetTexts &texts, const CommonFlags &common,
                          const TextModel &model);

} // namespace transom::tools
