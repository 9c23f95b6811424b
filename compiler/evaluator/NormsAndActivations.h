// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, softmax and norms of numbers, for operations of attn and kern.
#pragma once
#include "compiler/evaluator/Tensor.h"
#include "runtime/base/Activation.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace transom {

/// An activation; see `attn.activation`.
Number activate(Activation kind, Number x);

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

/// The slope, of slopes [heads] or [heads, 2] for earlier and later keys, for a
/// key at a distance from the query.
Number slopeAt(const Tensor &slopes, int64_t head, int64_t distance);
/// What it adds to the score of the key.
Number slopeBias(const Tensor &slopes, int64_t head, int64_t distance);

} // namespace transom
