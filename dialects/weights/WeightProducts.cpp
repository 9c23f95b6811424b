// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matmul's inner loop runs over columns, so that compilers vectorize it
// without changing the order of sums.
#include "dialects/weights/WeightProducts.h"
#include <cmath>

namespace transom {

/// Rows and columns per matmul tile.
static constexpr int64_t productTile = 128;

using Numbers = std::vector<double>;

static Numbers makeNumbers(int64_t count) {
  return Numbers(static_cast<size_t>(count));
}

/// out[i, j] = sum over k: a[i, k] b[k, j]; `stride` is the row stride of
/// `out`.
static void multiply(const Numbers &a, const Numbers &b, int64_t k, double *out,
                     int64_t stride) {
  const int64_t rows = static_cast<int64_t>(a.size()) / k;
  const int64_t columns = static_cast<int64_t>(b.size()) / k;
  for (int64_t i = 0; i < rows; ++i) {
    double *row = out + i * stride;
    std::fill_n(row, columns, 0.0);
    for (int64_t step = 0; step < k; ++step) {
      const double factor = a[i * k + step];
      const double *other = b.data() + step * columns;
      for (int64_t j = 0; j < columns; ++j)
        row[j] += factor * other[j];
    }
  }
}

/// Iterates over column tiles, and in each over row tiles, so that only one
/// tile per operand is in memory.
Result<void> evaluateMatmul(int64_t k, const Block &block,
                            const ReadOperand &read, double *out) {
  const int64_t rows = block.sizes[0], columns = block.sizes[1];
  if (k == 0) {
    std::fill_n(out, block.count(), 0.0);
    return {};
  }
  for (int64_t column = 0; column < columns; column += productTile) {
    const int64_t width = std::min(productTile, columns - column);
    Numbers b = makeNumbers(k * width);
    TRANSOM_TRY(
        read(1, {{0, block.offsets[1] + column}, {k, width}}, b.data()));
    for (int64_t row = 0; row < rows; row += productTile) {
      const int64_t height = std::min(productTile, rows - row);
      Numbers a = makeNumbers(height * k);
      TRANSOM_TRY(
          read(0, {{block.offsets[0] + row, 0}, {height, k}}, a.data()));
      multiply(a, b, k, out + row * columns + column, columns);
    }
  }
  return {};
}

/// Normalizes whole rows, and keeps the block's columns.
Result<void> evaluateLayerNorm(const NormOfRows &norm, const Block &block,
                               const ReadOperand &read, double *out) {
  const int64_t length = norm.length, width = block.sizes.back();
  Numbers gamma = makeNumbers(length), beta = gamma;
  TRANSOM_TRY(read(1, {{0}, {length}}, gamma.data()));
  TRANSOM_TRY(read(2, {{0}, {length}}, beta.data()));
  Block whole = block;
  whole.offsets.back() = 0;
  whole.sizes.back() = length;
  Numbers rows = makeNumbers(whole.count());
  TRANSOM_TRY(read(0, whole, rows.data()));

  const auto count = static_cast<double>(length);
  for (const double *x = rows.data(); x < rows.data() + rows.size();
       x += length) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i)
      sum += x[i];
    const double mean = sum / count;
    for (int64_t i = 0; i < length; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    const double root = std::sqrt(squares / count + norm.eps);
    for (int64_t i = block.offsets.back(); i < block.offsets.back() + width;
         ++i)
      *out++ = (x[i] - mean) / root * gamma[i] + beta[i];
  }
  return {};
}

/// Adds a tile's squares to the row sums.
static void addSquares(const Numbers &tile, Numbers &sums) {
  const size_t width = tile.size() / sums.size();
  for (size_t row = 0; row < sums.size(); ++row)
    for (size_t column = 0; column < width; ++column) {
      const double x = tile[row * width + column];
      sums[row] += x * x;
    }
}

/// Elements in a column tile that is read for row norms.
static constexpr int64_t normTile = 1 << 18;

/// Unknown norms are computed from whole rows, in tiles.
Result<void> evaluateWithNorms(const ScaledMatrix &matrix, RowNorms &norms,
                               const Block &block, const ReadOperand &read,
                               double *out) {
  const int64_t begin = block.offsets[0], rows = block.sizes[0];
  const int64_t width = block.sizes[1];
  TRANSOM_TRY(read(0, block, out));
  Numbers scales = makeNumbers(rows);
  TRANSOM_TRY(read(1, {{begin}, {rows}}, scales.data()));

  // Get the row norms from the cache, or compute them.
  Numbers lengths = makeNumbers(rows);
  if (!norms.find(matrix.source, begin, rows, lengths.data())) {
    std::fill(lengths.begin(), lengths.end(), 0.0);
    if (width == matrix.columns) {
      addSquares(Numbers(out, out + block.count()), lengths);
    } else {
      const int64_t step = std::max<int64_t>(1, normTile / rows);
      for (int64_t at = 0; at < matrix.columns; at += step) {
        const int64_t count = std::min(step, matrix.columns - at);
        Numbers tile = makeNumbers(rows * count);
        TRANSOM_TRY(read(0, {{begin, at}, {rows, count}}, tile.data()));
        addSquares(tile, lengths);
      }
    }
    for (double &length : lengths)
      length = std::sqrt(length);
    norms.add(matrix.source, matrix.rows, begin, lengths);
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < width; ++column)
      *out++ *= scales[row] / lengths[row];
  return {};
}

} // namespace transom
