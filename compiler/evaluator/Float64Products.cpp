// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Float64 GEMMs in the order that `dot` uses: each sum is sequential, so 2 rows
// times 8 columns run in parallel.
#include "compiler/evaluator/Number.h"
#include <algorithm>

using llvm::ArrayRef;

namespace transom {

static constexpr int64_t numRows = 2, numColumns = 8;

using Sums = double (&)[numRows][numColumns];

/// Adds rows in a [rows, k] times interleaved columns [k, numColumns].
template <int64_t rows>
__attribute__((always_inline)) static inline void
addProducts(Sums sums, const double *a, const double *columns, int64_t k) {
  double own[rows][numColumns];
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(sums[row], numColumns, own[row]);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < numColumns; ++j)
        own[row][j] += a[row * k + i] * columns[i * numColumns + j];
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(own[row], numColumns, sums[row]);
}

__attribute__((always_inline)) static inline void
addRows(Sums sums, const double *a, const double *columns, int64_t rows,
        int64_t k) {
  if (rows >= numRows)
    addProducts<numRows>(sums, a, columns, k);
  else
    addProducts<1>(sums, a, columns, k);
}

#if defined(__x86_64__)
/// On vectors with 4 elements. Nothing is fused: the instruction set has no
/// FMA.
__attribute__((target("avx2"))) static void
addRowsAvx2(Sums sums, const double *a, const double *columns, int64_t rows,
            int64_t k) {
  addRows(sums, a, columns, rows, k);
}

static bool hasAvx2() { return __builtin_cpu_supports("avx2"); }
#else
static constexpr auto addRowsAvx2 = addRows;
static bool hasAvx2() { return false; }
#endif

void dotRowsOfFloat64(ArrayRef<Number> inits, ArrayRef<Number> a,
                      const Number *b, int64_t m, int64_t n, Number *out) {
  const int64_t k = m ? static_cast<int64_t>(a.size()) / m : 0;
  const auto *left = reinterpret_cast<const double *>(a.data());
  const auto add = hasAvx2() ? addRowsAvx2 : addRows;
  std::vector<double> panel(k * numColumns);
  for (int64_t first = 0; first < n; first += numColumns) {
    const int64_t columns = std::min(numColumns, n - first);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < k; ++i)
        panel[i * numColumns + j] = b[(first + j) * k + i].real();
    for (int64_t row = 0; row < m; row += numRows) {
      double sums[numRows][numColumns] = {};
      for (int64_t j = 0; j < columns && !inits.empty(); ++j)
        sums[0][j] = sums[1][j] = inits[first + j].real();
      add(sums, left + row * k, panel.data(), m - row, k);
      for (int64_t i = 0; i < std::min(numRows, m - row); ++i)
        for (int64_t j = 0; j < columns; ++j)
          out[(row + i) * n + first + j] = sums[i][j];
    }
  }
}

} // namespace transom
