// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of matrices of float64, in the order of `dot`: sums wait for
// themselves, so those of 2 rows with 4 columns run side by side.
#include "compiler/evaluator/Number.h"
#include <algorithm>

using llvm::ArrayRef;

namespace transom {

static constexpr int64_t numRows = 2, numColumns = 4;

/// Adds the products of rows of a, [rows, k], and interleaved columns, [k,
/// numColumns].
template <int64_t rows>
static void addProducts(double (&sums)[numRows][numColumns], const double *a,
                        const double *columns, int64_t k) {
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

void dotRowsOfFloat64(ArrayRef<Number> inits, ArrayRef<Number> a,
                      const Number *b, int64_t m, int64_t n, Number *out) {
  const int64_t k = m ? static_cast<int64_t>(a.size()) / m : 0;
  const auto *left = reinterpret_cast<const double *>(a.data());
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
      if (row + 1 < m)
        addProducts<2>(sums, left + row * k, panel.data(), k);
      else
        addProducts<1>(sums, left + row * k, panel.data(), k);
      for (int64_t i = 0; i < std::min(numRows, m - row); ++i)
        for (int64_t j = 0; j < columns; ++j)
          out[(row + i) * n + first + j] = sums[i][j];
    }
  }
}

} // namespace transom
