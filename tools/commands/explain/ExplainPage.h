// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanations as a page: one file that works offline.
#pragma once
#include "tools/commands/PageTemplate.h"
#include <map>
#include <vector>

namespace transom::tools {

/// A compilation that a page shows.
struct ShownCompilation {
  /// The explanation as JSON, with the IR after each pass.
  std::string explanation;
  /// Contents of the model files by name: config.json, graph.json.
  std::map<std::string, std::string> sources;
  /// Output from `transom bench --profile --json`; empty: nothing.
  std::string profile;
  /// Output from `transom compile --emit asm`; empty: nothing.
  std::string assembly;
};

/// Writes a page for one compilation, or a comparison between two. Equal IR
/// lines are stored once for all modules. Fails if an explanation or a profile
/// is malformed.
Result<void> writeExplainPage(const std::vector<ShownCompilation> &compilations,
                              const ByteSink &sink);

} // namespace transom::tools
