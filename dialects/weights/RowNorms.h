// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix rows with given Euclidean norms, `with_norms(E, N)`: the rows of E [m,
// k], each scaled to its norm in N [m]. A column block needs the norms of whole
// rows, which are cached across blocks.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include <cstdint>
#include <mutex>
#include <vector>

namespace transom {

/// Makes the expression, with kind `LayerNorm` and two operands. It is computed
/// in float64.
WeightExpr withNorms(WeightExpr e, WeightExpr norms);

/// Row norms of one expression over one source's tensors; the source outlives
/// the expression. Thread-safe.
class RowNorms {
public:
  /// Finds the norms for `count` rows from `begin` on; false if one is not
  /// known for the source.
  bool find(const TensorSource *source, int64_t begin, int64_t count,
            double *out) const;
  /// Stores norms for an expression with `rows` rows.
  void add(const TensorSource *source, int64_t rows, int64_t begin,
           const std::vector<double> &norms);

private:
  mutable std::mutex mutex;
  const TensorSource *known = nullptr; ///< the norms' source
  std::vector<double> norms;           ///< negative: not known
};

} // namespace transom
