// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expressions and literal tables with smaller sizes.
#pragma once
#include "compiler/verify/SizeSolver.h"
#include "compiler/verify/TensorShapes.h"

namespace transom {

/// The shape with each size replaced.
std::vector<int64_t> shrinkShape(const SizeMap &sizes,
                                 const std::vector<int64_t> &shape);

/// The first indices into a dimension with size `rows`. If one exceeds the
/// smaller dimension, distinct indices become their ranks, so a permutation
/// keeps its order; otherwise they are taken modulo the new size.
std::vector<int64_t> shrinkIndices(const SizeMap &sizes,
                                   const std::vector<int64_t> &indices,
                                   int64_t rows);

/// Positions of the remaining elements in a row-major tensor.
std::vector<int64_t> getKeptElements(const SizeMap &sizes,
                                     const std::vector<int64_t> &shape);

/// The expression with all sizes replaced; `shapes` are the original file
/// tensor shapes.
Result<WeightExpr> shrinkExpression(const SizeMap &sizes, const WeightExpr &e,
                                    const TensorShapes &shapes);

} // namespace transom
