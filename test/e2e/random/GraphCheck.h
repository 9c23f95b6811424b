// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of one random graph: each pass is right for it, whatever passes are
// left out, with either backend.
#pragma once
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/RandomGraph.h"
#include <map>

namespace transom::testing {

/// How a random graph is checked.
struct GraphCheck {
  /// What the seed chooses.
  explicit GraphCheck(uint64_t seed);

  uint64_t seed;
  GraphKind kind;
  Lengths lengths = Lengths::Short;
  int numCases = 2;
  bool forgetsTypes;
  bool isBf16;
  bool hasAttention; ///< an entry with weights of attention is asked for
  Backend backend;
  std::set<std::string> disabled;
};

/// In how many graphs a pass did something.
using PassCounts = std::map<std::string, int>;

/// The first complaint about a graph; adds to `counts` the passes that did
/// something.
std::string checkGraph(const GraphCheck &check, PassCounts &counts);

/// Optional passes that are left out: mostly none.
std::set<std::string> drawDisabledPasses(Random &random);

} // namespace transom::testing
