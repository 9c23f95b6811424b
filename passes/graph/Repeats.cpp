// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each period, one scan compares the sequence with itself, shifted by the
// period.
#include "passes/graph/Repeats.h"
#include <algorithm>

namespace transom {

/// Appends the repeats with one period.
static void scan(const std::vector<int> &values, size_t period,
                 std::vector<Repeat> &repeats) {
  size_t limit = values.size() - period, begin = 0;
  while (begin < limit) {
    size_t end = begin;
    while (end < limit && values[end] == values[end + period])
      ++end;
    if (end - begin >= period)
      repeats.push_back({period, begin, end + period});
    begin = end + 1;
  }
}

std::vector<Repeat> findRepeats(const std::vector<int> &values,
                                size_t maxPeriod) {
  std::vector<Repeat> repeats;
  for (size_t period = 1; period <= maxPeriod && 2 * period <= values.size();
       ++period)
    scan(values, period, repeats);
  std::sort(
      repeats.begin(), repeats.end(), [](const Repeat &a, const Repeat &b) {
        if (a.covered() != b.covered())
          return a.covered() > b.covered();
        return a.period != b.period ? a.period < b.period : a.begin < b.begin;
      });
  return repeats;
}

} // namespace transom
