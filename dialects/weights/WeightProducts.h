// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of products and norms of weights, in float64. Sums have one order, so
// that a block has the bits of the whole.
#pragma once
#include "dialects/weights/RowNorms.h"
#include "dialects/weights/WeightTables.h"
#include <functional>

namespace transom {

/// Evaluates a block of an operand densely.
using ReadOperand = std::function<Result<void>(
    size_t operand, const Block &block, double *out)>;

/// `Matmul`, of operands [m, k] and [k, n]: sums over ascending k, from zero.
Result<void> evaluateMatmul(int64_t k, const Block &block,
                            const ReadOperand &read, double *out);

/// The length of the rows that are normalized, and the epsilon.
struct NormOfRows {
  int64_t length;
  double eps;
};

/// `LayerNorm`, of rows, gamma and beta.
Result<void> evaluateLayerNorm(const NormOfRows &norm, const Block &block,
                               const ReadOperand &read, double *out);

/// A matrix whose rows are scaled, and the source of its numbers.
struct ScaledMatrix {
  int64_t rows, columns;
  const TensorSource *source;
};

/// `with_norms`, of a matrix and the norms. The squares of a row are summed
/// over ascending columns.
Result<void> evaluateWithNorms(const ScaledMatrix &matrix, RowNorms &norms,
                               const Block &block, const ReadOperand &read,
                               double *out);

} // namespace transom
