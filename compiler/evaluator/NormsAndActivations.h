// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, softmax and norms over numbers, for attn and kern operations.
#pragma once
#include "compiler/evaluator/Tensor.h"
#include "runtime/base/Activation.h"
#include "llvm/ADT/ArrayRef.h"
#include <cmath>
#include <vector>

namespace transom {

/// An activation; see `attn.activation`.
Number activate(Activation kind, Number x);

/// The largest number; minus infinity for an empty row, NaN if there is a NaN.
Number getLargest(llvm::ArrayRef<Number> numbers);

/// Pools one column in a sequence: `numbers` are its elements in the pooled
/// rows, `columns` their token columns; see `attn.pool`. Both dialects have
/// these kinds.
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
    return sum; // a single row, or kind `sum`
  }
}

/// Softmax over a row; a row with only minus infinity becomes zeros.
void softmax(llvm::MutableArrayRef<Number> row);

/// The maximum m and the sum of exp(x - m) for each group in a row of logits;
/// see `attn.row_summary`.
RowSummary summarizeRow(llvm::ArrayRef<Number> row);

/// (x - mean) / sqrt(variance + eps) * gamma + beta over a row.
void layerNorm(llvm::MutableArrayRef<Number> row, llvm::ArrayRef<Number> gamma,
               const std::vector<Number> *beta, double eps);

/// x / sqrt(mean(x^2) + eps) * gamma over a row.
void rmsNorm(llvm::MutableArrayRef<Number> row, llvm::ArrayRef<Number> gamma,
             double eps);

/// Quantizes a group to integers and returns its scale and sum; see
/// `kern.quantize`. Domains other than bits round each number separately when
/// it is written.
std::pair<Number, Number> quantizeGroup(llvm::MutableArrayRef<Number> group);

/// The slope for a key at a distance from the query; `slopes` is [heads], or
/// [heads, 2] for earlier and later keys.
Number slopeAt(const Tensor &slopes, int64_t head, int64_t distance);
/// The slope times the distance, added to the key's score.
Number slopeBias(const Tensor &slopes, int64_t head, int64_t distance);

} // namespace transom
