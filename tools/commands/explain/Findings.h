// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reasons why a compiled model is slower than necessary, listed first in an
// explanation.
#pragma once
#include "compiler/explain/Explanation.h"

namespace transom::tools {

struct Finding {
  std::string what;   ///< one sentence with its numbers
  std::string why;    ///< the reason, as a pass reported it; may be empty
  std::string advice; ///< suggested change; may be empty
  std::string pass;   ///< the pass that gives the reason; empty for no pass
  ModelPlace place;   ///< location that the reason refers to
};

/// Finds disabled passes, attention that is not fused, computed padding, layers
/// that mostly copy, and columns that are computed but not used. Causes come
/// first.
std::vector<Finding> findCosts(const Explanation &explanation);

} // namespace transom::tools
