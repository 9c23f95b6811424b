// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, softmax and norms by their definitions.
#include "compiler/evaluator/NormsAndActivations.h"
#include "runtime/abi/RowSummary.h"
#include <algorithm>
#include <cmath>
#include <limits>

using llvm::ArrayRef;
using llvm::MutableArrayRef;

namespace transom {

double activate(Activation kind, double x) {
  return getActivationInfo(kind).evaluate(x);
}

void softmax(MutableArrayRef<double> row) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (double x : row)
    maximum = std::max(maximum, x);
  if (std::isinf(maximum) && maximum < 0) {
    std::fill(row.begin(), row.end(), 0.0);
    return;
  }
  double sum = 0;
  for (double &x : row)
    sum += x = std::exp(x - maximum);
  for (double &x : row)
    x /= sum;
}

RowSummary summarizeRow(ArrayRef<double> row) {
  RowSummary summary;
  for (; !row.empty();
       row = row.drop_front(std::min<size_t>(row.size(), summaryGroup))) {
    ArrayRef<double> group = row.take_front(summaryGroup);
    double maximum = *std::max_element(group.begin(), group.end()), sum = 0;
    for (double x : group) {
      sum += std::exp(x - maximum);
      if (!std::isfinite(x))
        maximum = std::numeric_limits<double>::quiet_NaN();
    }
    summary.maxima.push_back(maximum);
    summary.sums.push_back(sum);
  }
  return summary;
}

void layerNorm(MutableArrayRef<double> row, ArrayRef<double> gamma,
               const std::vector<double> *beta, double eps) {
  double mean = 0, variance = 0;
  for (double x : row)
    mean += x / row.size();
  for (double x : row)
    variance += (x - mean) * (x - mean) / row.size();
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = (row[i] - mean) / std::sqrt(variance + eps) * gamma[i] +
             (beta ? (*beta)[i] : 0.0);
}

void rmsNorm(MutableArrayRef<double> row, ArrayRef<double> gamma, double eps) {
  double square = 0;
  for (double x : row)
    square += x * x / row.size();
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = row[i] / std::sqrt(square + eps) * gamma[i];
}

} // namespace transom

double transom::slopeBias(const Tensor &slopes, int64_t head,
                          int64_t distance) {
  bool bySide = slopes.sizes.size() == 2;
  int64_t entry = bySide ? 2 * head + (distance > 0) : head;
  return slopes.real[entry] * static_cast<double>(distance);
}
