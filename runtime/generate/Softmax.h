// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponentials and sums with the same bits on every host: only additions,
// products and quotients of doubles in a fixed order, no libm and no fused
// operations (the folder is compiled without contraction).
#pragma once
#include "runtime/abi/RowSummary.h"
#include <cstdint>
#include <cstring>
#include <vector>

namespace transom {

/// Returns e^x within 2 ulp for x in [-700, 700]; 0 below, and the value for
/// 700 above. Branch-free, so that loops over it vectorize.
inline double portableExp(double x) {
  constexpr double shift = 6755399441055744.0; // 1.5 * 2^52: rounds to integers
  constexpr double ln2High = 0x1.62e42feep-1, ln2Low = 0x1.a39ef35793c76p-33;
  // Split x into whole * ln(2) + r.
  double in = x < -700 ? -700 : x > 700 ? 700 : x;
  double shifted = in * 1.4426950408889634 + shift;
  double whole = shifted - shift;
  double r = (in - whole * ln2High) - whole * ln2Low;
  double sum = 1.0 / 6227020800.0; // Taylor series to the 13th power
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
  // Build 2^whole from the integer in the mantissa bits.
  int64_t bits, base;
  std::memcpy(&bits, &shifted, sizeof bits);
  std::memcpy(&base, &shift, sizeof base);
  int64_t power = (bits - base + 1023) * (int64_t(1) << 52);
  double scale;
  std::memcpy(&scale, &power, sizeof scale);
  return x < -700 ? 0 : sum * scale;
}

/// Returns the natural logarithm of a positive, normal x, within 2 ulp.
double portableLog(double x);

/// Returns log(sum(exp(logits))). All logits must be finite; width is not 0.
double logSumExp(const float *logits, int64_t width);

/// Returns sum(exp(values[i] - shift)); 0 if width is 0.
double sumExp(const float *values, int64_t width, double shift);

/// Returns sum(exp(x - shift)) over groups for which the maxima m and
/// sum(exp(x - m)) are given; 0 if count is 0.
double sumGroups(const float *maxima, const float *sums, int64_t count,
                 double shift);

/// Computes weights[i] = exp((values[i] - top) * scale), and returns their sum.
/// Values may be minus infinity, with weight 0.
double expWeights(const float *values, int64_t width, float top, double scale,
                  double *weights);

/// Returns the index of the first NaN or infinity, or -1 if all values are
/// finite.
int64_t firstNonFinite(const float *values, int64_t width);

/// The largest value in each 64-element block of a logit row. With these it
/// finds the largest values in a long row without a full pass.
class RowScan {
public:
  explicit RowScan(int64_t width);

  /// Scans a row, which must stay valid until the next call. Returns false if a
  /// value is NaN or infinite. `maxima`: the largest value in each block, or
  /// NaN if one is not finite; if NULL, they are computed in one pass over the
  /// row.
  bool scan(const float *values, const float *maxima = nullptr);
  /// The largest value.
  float maximum() const { return top; }
  /// Returns the first index of the largest value.
  int64_t argmax() const;
  /// Returns, in order, all indices whose values are among the `count` largest,
  /// and possibly more: all values not below a bound. Values of minus infinity
  /// are never included.
  void gatherLargest(size_t count, std::vector<int32_t> &indices);
  /// Block count: gatherLargest() with this count returns all indices.
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
