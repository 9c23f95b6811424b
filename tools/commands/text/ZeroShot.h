// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom classify --candidate: classifies by labels that a model was not
// trained on, with a natural language inference model.
#pragma once
#include "tools/commands/text/Texts.h"

namespace transom::tools {

struct ZeroShotFlags {
  std::vector<std::string> candidates;
  std::string hypothesis; ///< empty: "This example is {}."
  bool independent = false;

  bool isAskedFor() const { return !candidates.empty(); }
  Result<void> validate() const;
};

/// Adds `--candidate`, `--hypothesis` and `--multi-label`.
void addZeroShot(CLI::App &command, ZeroShotFlags &flags);

/// Prints a JSON line for each text: its label, and the scores for all
/// candidates, best first.
Result<void> classifyZeroShot(const std::string &path, const TextInput &input,
                              const ZeroShotFlags &flags,
                              const CommonFlags &common);

} // namespace transom::tools
