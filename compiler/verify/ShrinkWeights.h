// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expressions and literal tables of smaller sizes.
#pragma once
#include "compiler/verify/SizeSolver.h"
#include "compiler/verify/TensorShapes.h"

namespace transom {

/// The shape with each size replaced.
std::vector<int64_t> shrinkShape(const SizeMap &sizes,
                                 const std::vector<int64_t> &shape);

/// Indices into a dimension of `rows`: the first of them. Where these leave the
/// smaller dimension, distinct ones become their ranks, so that a permutation
/// keeps its order, and others their remainder modulo its size.
std::vector<int64_t> shrinkIndices(const SizeMap &sizes,
                                   const std::vector<int64_t> &indices,
                                   int64_t rows);

/// The positions of elements that stay of a row-major tensor.
std::vector<int64_t> getKeptElements(const SizeMap &sizes,
                                     const std::vector<int64_t> &shape);

/// The expression with all sizes replaced; `shapes` are those of the file
/// tensors of the original.
Result<WeightExpr> shrinkExpression(const SizeMap &sizes, const WeightExpr &e,
                                    const TensorShapes &shapes);

} // namespace transom
