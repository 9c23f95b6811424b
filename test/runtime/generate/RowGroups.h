// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A logit row's summary, as a model's step returns it.
#pragma once
#include "runtime/abi/RowSummary.h"
#include "runtime/generate/LogitsSource.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace transom::test {

struct RowGroups {
  RowGroups(const float *row, int64_t width) : logits(row) {
    for (int64_t begin = 0; begin < width; begin += summaryGroup) {
      const float *end = row + std::min(width, begin + summaryGroup);
      float maximum = *std::max_element(row + begin, end), sum = 0;
      for (const float *logit = row + begin; logit != end; ++logit) {
        sum += std::exp(*logit - maximum);
        if (!std::isfinite(*logit))
          maximum = std::nanf("");
      }
      maxima.push_back(maximum);
      sums.push_back(sum);
    }
  }
  LogitRow get(bool withSums = true) const {
    return {logits, maxima.data(), withSums ? sums.data() : nullptr};
  }

  const float *logits;
  std::vector<float> maxima, sums;
};

} // namespace transom::test
