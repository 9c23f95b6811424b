// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks one random graph: each pass preserves its results, for any set of
// disabled passes, with either backend.
#pragma once
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/RandomGraph.h"
#include <map>

namespace transom::testing {

/// How a random graph is checked.
struct GraphCheck {
  /// Draws all choices from the seed.
  explicit GraphCheck(uint64_t seed);

  uint64_t seed;
  GraphKind kind;
  Lengths lengths = Lengths::Short;
  int numCases = 2;
  bool forgetsTypes;
  bool isBf16;
  bool hasAttention; ///< requests an attention weights entry
  Backend backend;
  std::set<std::string> disabled;
};

/// In how many graphs a pass did something.
using PassCounts = std::map<std::string, int>;

/// Returns the first error in a graph; adds the passes that changed it to
/// `counts`.
std::string checkGraph(const GraphCheck &check, PassCounts &counts);

/// Draws the disabled optional passes: usually none.
std::set<std::string> drawDisabledPasses(Random &random);

} // namespace transom::testing
