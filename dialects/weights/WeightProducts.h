// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of weight matmuls and norms, in float64. Sums have a fixed order, so
// that a block equals the same block in the whole result, bit for bit.
#pragma once
#include "dialects/weights/RowNorms.h"
#include "dialects/weights/WeightTables.h"
#include <functional>

namespace transom {

/// Evaluates an operand block densely.
using ReadOperand = std::function<Result<void>(
    size_t operand, const Block &block, double *out)>;

/// `Matmul` with operands [m, k] and [k, n]: sums over ascending k, from zero.
Result<void> evaluateMatmul(int64_t k, const Block &block,
                            const ReadOperand &read, double *out);

/// The normalized row length, and the epsilon.
struct NormOfRows {
  int64_t length;
  double eps;
};

/// `LayerNorm` over rows, with gamma and beta.
Result<void> evaluateLayerNorm(const NormOfRows &norm, const Block &block,
                               const ReadOperand &read, double *out);

/// A matrix whose rows are scaled, and its tensor source.
struct ScaledMatrix {
  int64_t rows, columns;
  const TensorSource *source;
};

/// `with_norms` over a matrix and norms. A row's squares are summed over
/// ascending columns.
Result<void> evaluateWithNorms(const ScaledMatrix &matrix, RowNorms &norms,
                               const Block &block, const ReadOperand &read,
                               double *out);

} // namespace transom
