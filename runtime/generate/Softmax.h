// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponentials and sums that have the same bits on every machine: nothing but
// additions, products and quotients of doubles in a fixed order, no libm and no
// fused operations (the folder is compiled without contraction).
#pragma once
#include "runtime/abi/RowSummary.h"
#include <cstdint>
#include <cstring>
#include <vector>

namespace transom {

/// e to the power of x within 2 ulp, for x in [-700, 700]; beyond, the value at
/// the border, but 0 below. Without branches, so that loops over it vectorize.
inline double portableExp(double x) {
  constexpr double shift = 6755399441055744.0; // 1.5 * 2^52: rounds to integers
  constexpr double ln2High = 0x1.62e42feep-1, ln2Low = 0x1.a39ef35793c76p-33;
  double in = x < -700 ? -700 : x > 700 ? 700 : x;
  double shifted = in * 1.4426950408889634 + shift;
  double whole = shifted - shift;
  double r = (in - whole * ln2High) - whole * ln2Low;
  double sum = 1.0 / 6227020800.0; // Taylor's series to the 13th power
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  int64_t bits, base;
  std::memcpy(&bits, &shifted, sizeof bits);
  std::memcpy(&base, &shift, sizeof base);
  int64_t power = (bits - base + 1023) * (int64_t(1) << 52);
  double scale;
  std::memcpy(&scale, &power, sizeof scale);
  return x < -700 ? 0 : sum * scale;
}

/// The natural logarithm of a positive, normal x, within 2 ulp.
double portableLog(double x);

/// log(sum of exp(logits)). All logits are finite; width is not 0.
double logSumExp(const float *logits, int64_t width);

/// The sum of exp(values[i] - shift); 0 for a width of 0.
double sumExp(const float *values, int64_t width, double shift);

/// The sum of exp(x - shift) over groups of numbers, of which the maxima m and
/// the sums of exp(x - m) are given; 0 for a count of 0.
double sumGroups(const float *maxima, const float *sums, int64_t count,
                 double shift);

/// weights[i] = exp((values[i] - top) * scale), and their sum. Values may be
/// minus infinity, which weighs nothing.
double expWeights(const float *values, int64_t width, float top, double scale,
                  double *weights);

/// Index of the first NaN or infinity, -1 where all are finite.
int64_t firstNonFinite(const float *values, int64_t width);

/// The largest value of each block of 64 of a row of logits. With them it finds
/// the largest values of a long row without looking at all of it.
class RowScan {
public:
  explicit RowScan(int64_t width);

  /// Looks at a row, which has to stay until the next call. False where a value
  /// is NaN or infinite. `maxima`: the largest value of each block, or NaN
  /// where one is not finite; NULL: they are found in one pass over the row.
  bool scan(const float *values, const float *maxima = nullptr);
  /// The largest value.
  float maximum() const { return top; }
  /// The first index of the largest value.
  int64_t argmax() const;
  /// All indices whose values are among the `count` largest, in order, and
  /// perhaps some more: all that are not smaller than a bound. Values of minus
  /// infinity are never among them.
  void gatherLargest(size_t count, std::vector<int32_t> &indices);
  /// Number of blocks: asking for as many of the largest gives all.
  size_t blockCount() const { return blocks.size(); }

private:
  static constexpr int64_t blockSize = summaryGroup;
  bool findMaxima();

  int64_t width;
  const float *row = nullptr;
  float top = 0;
  std::vector<float> blocks, scratch;
};

} // namespace transom
