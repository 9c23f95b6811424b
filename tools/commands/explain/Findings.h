// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes a compiled model slower than it has to be, the first thing that a
// reader of an explanation sees.
#pragma once
#include "compiler/explain/Explanation.h"

namespace transom::tools {

struct Finding {
  std::string what;   ///< one sentence with its numbers
  std::string why;    ///< the reason, as a pass reported it; may be empty
  std::string advice; ///< what to change; may be empty
  std::string pass;   ///< the pass that says why; empty for no pass
  ModelPlace place;   ///< of the reason
};

/// Passes that were left out, attention that is not fused, padding that is
/// computed, layers that mostly copy, and columns that are computed and not
/// used: causes come first.
std::vector<Finding> findCosts(const Explanation &explanation);

} // namespace transom::tools
