// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeats in an integer sequence, where equal groups follow one another.
// Independent of the IR.
#pragma once
#include <cstddef>
#include <vector>

namespace transom {

/// `values[i] == values[i + period]` for all i in [begin, end - period), and
/// neither end can be moved outwards.
struct Repeat {
  size_t period, begin, end;

  /// The number of elements in whole groups, starting at `begin`.
  size_t covered() const { return (end - begin) / period * period; }
};

/// All maximal repeats with at least two groups and a period up to `maxPeriod`,
/// the largest coverage first; on a tie, the shorter period first. Time is
/// linear in the length times `maxPeriod`.
std::vector<Repeat> findRepeats(const std::vector<int> &values,
                                size_t maxPeriod);

} // namespace transom
