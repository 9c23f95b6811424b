// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, softmax and norms of numbers, for operations of attn and kern.
#pragma once
#include "compiler/evaluator/Tensor.h"
#include "runtime/base/Activation.h"
#include "llvm/ADT/ArrayRef.h"
#include <cmath>
#include <vector>

namespace transom {

/// An activation; see `attn.activation`.
Number activate(Activation kind, Number x);

/// The largest number, of none minus infinity; a NaN gives a NaN.
Number getLargest(llvm::ArrayRef<Number> numbers);

/// What pooling makes of one column of a sequence: its numbers in the rows that
/// are pooled, and the columns of their tokens; see `attn.pool`. Both dialects
/// have the kinds.
template <typename Kind>
Number poolNumbers(Kind kind, llvm::ArrayRef<Number> numbers,
                   llvm::ArrayRef<int64_t> columns) {
  const auto count = static_cast<double>(numbers.size());
  if (numbers.empty())
    return Number();
  if (kind == Kind::Max)
    return getLargest(numbers);
  Number sum;
  double weights = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto weight = static_cast<double>(columns[i] + 1);
    sum +=
        kind == Kind::WeightedMean ? numbers[i] * Number(weight) : numbers[i];
    weights += weight;
  }
  switch (kind) {
  case Kind::Mean:
    return sum / count;
  case Kind::MeanSqrt:
    return sum / std::sqrt(count);
  case Kind::WeightedMean:
    return sum / weights;
  default:
    return sum; // of one row, or kind `sum`
  }
}

/// Softmax of a row; a row of minus infinities becomes zeros.
void softmax(llvm::MutableArrayRef<Number> row);

/// For each group of a row of logits its maximum m and the sum of exp(x - m);
/// see `attn.row_summary`.
RowSummary summarizeRow(llvm::ArrayRef<Number> row);

/// (x - mean) / sqrt(variance + eps) * gamma + beta of a row.
void layerNorm(llvm::MutableArrayRef<Number> row, llvm::ArrayRef<Number> gamma,
               const std::vector<Number> *beta, double eps);

/// x / sqrt(mean(x^2) + eps) * gamma of a row.
void rmsNorm(llvm::MutableArrayRef<Number> row, llvm::ArrayRef<Number> gamma,
             double eps);

/// Makes a group of numbers whole; gives its scale and its sum; see
/// `kern.quantize`. Domains other than that of bits round each number by itself
/// when it is written.
std::pair<Number, Number> quantizeGroup(llvm::MutableArrayRef<Number> group);

/// The slope, of slopes [heads] or [heads, 2] for earlier and later keys, for a
/// key at a distance from the query.
Number slopeAt(const Tensor &slopes, int64_t head, int64_t distance);
/// What it adds to the score of the key.
Number slopeBias(const Tensor &slopes, int64_t head, int64_t distance);

} // namespace transom
