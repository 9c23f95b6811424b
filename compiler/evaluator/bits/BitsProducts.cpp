// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of multiply-adds. Each step in a chain waits for the previous one, so
// chains for some rows and 16 columns run in parallel; the columns are
// interleaved once for all rows. Compiled without contraction, so only
// `std::fma` fuses.
#include "compiler/evaluator/bits/BitsMath.h"
#include "runtime/base/DType.h"
#include "runtime/base/InstructionSet.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#if defined(__x86_64__)
#include <immintrin.h>
/// Compiles fused multiply-adds to one instruction on 8 elements.
#define TRANSOM_VECTORS __attribute__((target("avx2,fma")))
#else
#define TRANSOM_VECTORS
#endif

namespace transom::bits {

static constexpr int64_t numColumns = 16;

bool runsHere(Chain chain) {
#if defined(__x86_64__)
  return chain == Chain::Dot ? __builtin_cpu_supports("avx512bf16")
                             : __builtin_cpu_supports("fma");
#else
  return chain != Chain::Dot;
#endif
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {

/// Sums for some rows, one per column.
template <int64_t rows> struct Sums {
  float of[rows][numColumns];
};

/// Adds the outer product: one column in a times one row in b.
template <int64_t rows>
__attribute__((always_inline)) TRANSOM_VECTORS inline void
addProducts(Sums<rows> &sums, const float *a, int64_t stride, const float *b) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < numColumns; ++j)
      sums.of[row][j] = std::fma(a[row * stride], b[j], sums.of[row][j]);
}

// Summation order for each kind of chain, and the number of rows that fit into
// registers. `add` adds a [rows, count] times b [count, numColumns].

struct FloatChains {
  using Operand = float;
  static constexpr int64_t numRows = 4;
  template <int64_t rows>
  TRANSOM_VECTORS static void add(Sums<rows> &sums, const float *a,
                                  const float *b, int64_t count) {
    Sums<rows> own = sums;
    for (int64_t i = 0; i < count; ++i)
      addProducts<rows>(own, a + i, count, b + i * numColumns);
    sums = own;
  }
};

struct AmxChains {
  using Operand = float;
  static constexpr int64_t numRows = 2;
  template <int64_t rows>
  TRANSOM_VECTORS static void add(Sums<rows> &sums, const float *a,
                                  const float *b, int64_t count) {
    for (int64_t first = 0; first < count; first += amxBf16Depth) {
      Sums<rows> even = {}, odd = {};
      const int64_t end = std::min(first + amxBf16Depth, count);
      int64_t i = first;
      for (; i + 1 < end; i += 2) {
        addProducts<rows>(even, a + i, count, b + i * numColumns);
        addProducts<rows>(odd, a + i + 1, count, b + (i + 1) * numColumns);
      }
      if (i < end)
        addProducts<rows>(even, a + i, count, b + i * numColumns);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t j = 0; j < numColumns; ++j)
          sums.of[row][j] =
              sums.of[row][j] + (even.of[row][j] + odd.of[row][j]);
    }
  }
};

struct DotChains {
  using Operand = int; // a bf16 pair
  static constexpr int64_t numRows = 4;
#if defined(__x86_64__)
  template <int64_t rows>
  __attribute__((target("avx512f,avx512bf16"))) static void
  add(Sums<rows> &sums, const int *a, const int *b, int64_t count) {
    __m512 own[rows];
    for (int64_t row = 0; row < rows; ++row)
      own[row] = _mm512_loadu_ps(sums.of[row]);
    for (int64_t i = 0; i < count; ++i) {
      const __m512i columns = _mm512_loadu_si512(b + i * numColumns);
      for (int64_t row = 0; row < rows; ++row)
        own[row] = _mm512_dpbf16_ps(
            own[row], (__m512bh)_mm512_set1_epi32(a[row * count + i]),
            (__m512bh)columns);
    }
    for (int64_t row = 0; row < rows; ++row)
      _mm512_storeu_ps(sums.of[row], own[row]);
  }
#else
  template <int64_t rows>
  static void add(Sums<rows> &sums, const int *, const int *, int64_t) {
    for (auto &row : sums.of)
      std::fill_n(row, numColumns, std::numeric_limits<float>::quiet_NaN());
  }
#endif
};

/// Adds a [m, count] times b [n, count] to sums [m, n].
template <typename Chains> struct Product {
  using T = typename Chains::Operand;
  const T *a, *b;
  int64_t m, n, count;
  float *sums;

  void multiply() const;
  void interleave(int64_t column, int64_t columns, std::vector<T> &panel) const;
  template <int64_t rows>
  void multiplyRows(int64_t row, int64_t column, const T *panel) const;
};

} // namespace

/// Interleaves rows in b to [count, numColumns]; the remaining columns do not
/// change.
template <typename Chains>
void Product<Chains>::interleave(int64_t column, int64_t columns,
                                 std::vector<T> &panel) const {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < count; ++i)
      panel[i * numColumns + j] = b[(column + j) * count + i];
}

template <typename Chains>
template <int64_t rows>
void Product<Chains>::multiplyRows(int64_t row, int64_t column,
                                   const T *panel) const {
  const int64_t columns = std::min(numColumns, n - column);
  Sums<rows> block = {};
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(sums + (row + i) * n + column, columns, block.of[i]);
  Chains::template add<rows>(block, a + row * count, panel, count);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(block.of[i], columns, sums + (row + i) * n + column);
}

template <typename Chains> void Product<Chains>::multiply() const {
  std::vector<T> panel(numColumns * count);
  for (int64_t column = 0; column < n; column += numColumns) {
    interleave(column, std::min(numColumns, n - column), panel);
    int64_t row = 0;
    for (; row + Chains::numRows <= m; row += Chains::numRows)
      multiplyRows<Chains::numRows>(row, column, panel.data());
    for (; row < m; ++row)
      multiplyRows<1>(row, column, panel.data());
  }
}

/// The bf16 bits in an f32, which usually is exact.
static uint32_t getBf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits & 0xffff ? floatToBfloat16(x) : bits >> 16;
}

/// Packs bf16 pairs into words, the first in the lower half; a last element
/// without a partner is paired with zero.
static std::vector<int> makePairs(const float *rows, int64_t numRows,
                                  int64_t count) {
  std::vector<int> pairs;
  pairs.reserve(numRows * ((count + 1) / 2));
  for (const float *row = rows; row != rows + numRows * count; row += count)
    for (int64_t i = 0; i < count; i += 2) {
      const uint32_t second = i + 1 < count ? getBf16(row[i + 1]) : 0;
      pairs.push_back(static_cast<int>(second << 16 | getBf16(row[i])));
    }
  return pairs;
}

void multiply(Chain chain, const float *a, int64_t m, const float *b, int64_t n,
              int64_t count, float *sums) {
  switch (chain) {
  case Chain::F32:
  case Chain::Bf16:
    Product<FloatChains>{a, b, m, n, count, sums}.multiply();
    // Pairing a last element adds zero.
    for (int64_t i = 0; chain == Chain::Bf16 && count % 2 && i < m * n; ++i)
      sums[i] = sums[i] + 0.0f;
    return;
  case Chain::Dot: {
    const std::vector<int> left = makePairs(a, m, count),
                           right = makePairs(b, n, count);
    return Product<DotChains>{left.data(), right.data(),    m,
                              n,           (count + 1) / 2, sums}
        .multiply();
  }
  case Chain::Amx:
    return Product<AmxChains>{a, b, m, n, count, sums}.multiply();
  }
}

void dotRows(Chain chain, std::vector<float> &sums, const float *a,
             const float *b, int64_t count) {
  multiply(chain, a, 1, b, static_cast<int64_t>(sums.size()), count,
           sums.data());
}

TRANSOM_VECTORS float dot(float sum, const float *a, const float *b,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sum = std::fma(a[i], b[i], sum);
  return sum;
}

} // namespace transom::bits
