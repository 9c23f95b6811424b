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
  /// Texts of the model's files by name: config.json, graph.json.
  std::map<std::string, std::string> sources;
  /// What `transom bench --profile --json` printed of it; empty: nothing.
  std::string profile;
  /// What `transom compile --emit asm` wrote for it; empty: nothing.
  std::string assembly;
};

/// Writes a page of one compilation, or of two that it compares. Each line of
/// the IR is stored once, whichever modules it is in. Fails when an explanation
/// or a profile is malformed.
Result<void> writeExplainPage(const std::vector<ShownCompilation> &compilations,
                              const ByteSink &sink);

} // namespace transom::tools
