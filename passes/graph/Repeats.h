// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeats in a sequence of integers: where it looks like one group after
// another. Knows no IR.
#pragma once
#include <cstddef>
#include <vector>

namespace transom {

/// `values[i] == values[i + period]` for all i in [begin, end - period), and
/// neither end can be moved outwards.
struct Repeat {
  size_t period, begin, end;

  /// How many elements whole groups cover, starting at `begin`.
  size_t covered() const { return (end - begin) / period * period; }
};

/// All maximal repeats of at least two groups with a period of at most
/// `maxPeriod`; the one that covers most comes first, of equals the one with
/// the shorter period. Time is linear in the length times `maxPeriod`.
std::vector<Repeat> findRepeats(const std::vector<int> &values,
                                size_t maxPeriod);

} // namespace transom
