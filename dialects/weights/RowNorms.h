// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a matrix with given Euclidean norms, `with_norms(E, N)`: rows of E
// [m, k], each scaled to the norm that N [m] gives. A block of columns needs
// the norms of whole rows, which are kept from block to block.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include <cstdint>
#include <mutex>
#include <vector>

namespace transom {

/// The expression, of the kind `LayerNorm` with two operands. It is computed in
/// float64.
WeightExpr withNorms(WeightExpr e, WeightExpr norms);

/// The norms of the rows of one expression over the tensors of one source,
/// which outlives the expression. Safe to use from several threads.
class RowNorms {
public:
  /// The norms of `count` rows from `begin` on, or nothing if one is not known
  /// for the source.
  bool find(const TensorSource *source, int64_t begin, int64_t count,
            double *out) const;
  /// Keeps norms of an expression of `rows` rows.
  void add(const TensorSource *source, int64_t rows, int64_t begin,
           const std::vector<double> &norms);

private:
  mutable std::mutex mutex;
  const TensorSource *known = nullptr; ///< the source of the norms
  std::vector<double> norms;           ///< negative: not known
};

} // namespace transom
