// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts planted bugs by kind and outcome.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <map>
#include <string>

namespace transom::testing {

/// Outcomes for bugs of one kind.
struct Tally {
  int64_t planted = 0, equal = 0, survived = 0;
  std::map<std::string, int64_t> found; ///< by the check that found them

  void add(const Tally &other);
  /// The share that is found, in percent, without mutants that are proved
  /// equal.
  double getScore() const;
};

using Tallies = std::map<std::string, Tally>;

/// Prints a table with a column for each finder; returns the sum over all
/// kinds.
Tally print(const Tallies &tallies, llvm::ArrayRef<const char *> finders);

} // namespace transom::testing
