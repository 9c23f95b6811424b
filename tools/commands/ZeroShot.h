// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom classify --candidate: labels that a model was not trained on, by a
// model of natural language inference.
#pragma once
#include "tools/commands/Texts.h"

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

/// Prints a line of JSON for each text: its label, and the scores of all
/// candidates, best first.
Result<void> classifyZeroShot(const std::string &path, const TextInput &input,
                              const ZeroShotFlags &flags,
                              const CommonFlags &common);

} // namespace transom::tools
