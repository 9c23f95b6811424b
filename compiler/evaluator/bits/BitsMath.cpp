// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled without contraction, so only `std::fma` fuses.
#include "compiler/evaluator/bits/BitsMath.h"
#include "runtime/abi/RowSummary.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#if defined(__x86_64__)
/// Compiles fused multiply-adds to one instruction.
#define TRANSOM_FMA __attribute__((target("avx2,fma")))
#else
#define TRANSOM_FMA
#endif

namespace transom::bits {

static constexpr float infinity = std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Horner's rule; coefficients start with the constant term.
TRANSOM_FMA static float horner(float x,
                                std::initializer_list<double> coefficients) {
  const double *c = coefficients.end() - 1;
  float sum = static_cast<float>(*c);
  while (c-- != coefficients.begin())
    sum = std::fma(sum, x, static_cast<float>(*c));
  return sum;
}

/// x * 2^n; adds n to the exponent bits.
static float addExponent(float x, int n) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits += static_cast<uint32_t>(n) << 23;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

float exp2(float x) {
  if (std::isnan(x))
    return x;
  if (x < -126)
    return 0;
  const float n = std::floor(x);
  const float p = horner(x - n, {1.0, 0.69315248728, 0.24015279114,
                                 0.05583592132, 0.00897337683, 0.00188529585});
  return addExponent(p, static_cast<int>(n));
}

/// x in [low, high]; NaN stays NaN.
static float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return high < x ? high : x;
}

float exp(float x) {
  if (std::isnan(x))
    return x;
  // Adding 1.5 * 2^23 rounds to an integer.
  const float shift = 12582912, bounded = clamp(x, -104, 89);
  const float n = std::fma(bounded, log2E, shift) - shift;
  float r = std::fma(n, -0.693145751953125f, bounded);
  r = std::fma(n, -1.428606765330187e-06f, r);
  const float p =
      horner(r * log2E, {1.0, 0.6931472067106192, 0.24022651213595259,
                         0.05550327214209211, 0.009618025602937879,
                         0.0013400432165501582, 0.00015469731983877433});
  const int whole = static_cast<int>(n), half = whole >> 1;
  return p * addExponent(1, half) * addExponent(1, whole - half);
}

float erf(float x) {
  const float z = clamp(x, -3.92f, 3.92f);
  const float t =
      std::fma(z * z, static_cast<float>(2.0 / (3.92 * 3.92)), -1.f);
  return z *
         horner(t, {0.36073682, -0.18010864, 0.13408427, -0.1091785, 0.09060231,
                    -0.07403017, 0.058358494, -0.043374684, 0.029820837,
                    -0.020180436, 0.01400489, -0.007371947, 0.0020871249,
                    -0.0016186949, 0.0020457653, -0.00077541143});
}

static float sigmoid(float x) { return 1 / (1 + exp(0 - x)); }

static float tanh(float x) {
  const float size = x < 0 ? 0 - x : x, t = exp(size * -2);
  const float series =
      horner(x * x, {1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835});
  const float value = size < 0.3f ? size * series : (1 - t) / (1 + t);
  return x < 0 ? 0 - value : value;
}

static float gelu(float x) {
  const float half = x * 0.5f;
  return std::fma(half, erf(x * 0.7071067811865476f), half);
}

static float geluTanh(float x) {
  const float inner =
      std::fma(x * x * x, 0.044715f, x) * float(2 * 0.7978845608028654);
  return x * sigmoid(inner);
}

static float log1pRelu(float x) {
  const float y = x < 0 ? 0 : x, u = 1 + y, lost = (y - (u - 1)) / u;
  if (!(y < infinity))
    return y;
  int32_t bits;
  std::memcpy(&bits, &u, sizeof bits);
  const int32_t n = (bits - 0x3f3504f3) >> 23;
  const float f = addExponent(u, -n) - 1;
  const float q =
      horner(f, {0.333333164, -0.250008076, 0.200022861, -0.166245952,
                 0.141812176, -0.131284177, 0.128813803, -0.0786014125});
  const float log = std::fma(f * f, std::fma(f, q, -0.5f), f);
  return std::fma(static_cast<float>(n), 0.6931471805599453f, log + lost);
}

float activate(Activation kind, float x) {
  // Formulas and constants match the generated code.
  switch (kind) {
  case Activation::Relu:
    return x < 0 ? 0 : x;
  case Activation::Gelu:
    return gelu(x);
  case Activation::GeluTanh:
    return geluTanh(x);
  case Activation::QuickGelu:
    return x * sigmoid(x * 1.702f);
  case Activation::Silu:
    return x * sigmoid(x);
  case Activation::Tanh:
    return tanh(x);
  case Activation::Sigmoid:
    return sigmoid(x);
  case Activation::Exp:
    return exp(x);
  case Activation::Neg:
    return 0 - x;
  case Activation::Sqrt:
    return std::sqrt(x);
  case Activation::Rsqrt:
    return 1 / std::sqrt(x);
  case Activation::Log1pRelu:
    return log1pRelu(x);
  }
  return std::numeric_limits<float>::quiet_NaN();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

float sum(const float *values, int64_t count) {
  float lanes[16] = {};
  for (int64_t i = 0; i < count; ++i)
    lanes[i % 16] = lanes[i % 16] + values[i];
  for (int half = 8; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] = lanes[i] + lanes[i + half];
  return lanes[0];
}

float getMaximum(const float *values, int64_t count) {
  float maximum = -infinity;
  for (int64_t i = 0; i < count; ++i)
    maximum = std::max(maximum, values[i]);
  return maximum;
}

void normalize(float *row, int64_t count, const NormParameters &norm) {
  const float width = static_cast<float>(count);
  const float mean = norm.rms ? 0 : sum(row, count) / width;
  std::vector<float> squares(count);
  for (int64_t i = 0; i < count; ++i)
    squares[i] = (row[i] - mean) * (row[i] - mean);
  const float variance = sum(squares.data(), count) / width;
  const float factor = 1 / std::sqrt(variance + norm.eps);
  for (int64_t i = 0; i < count; ++i) {
    const float normal = (row[i] - mean) * factor;
    row[i] = norm.beta ? std::fma(normal, norm.gamma[i], norm.beta[i])
                       : normal * norm.gamma[i];
  }
}

float maximum(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<float>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

float getShift(float maximum) { return -infinity < maximum ? maximum : 0; }

bool isEmptySum(float sum) { return sum < 0x1p-64f; }

void softmax(float *row, int64_t count) {
  const float shift = getShift(getMaximum(row, count));
  for (int64_t i = 0; i < count; ++i)
    row[i] = exp2((row[i] - shift) * log2E);
  const float total = sum(row, count);
  const float divisor = isEmptySum(total) ? 1 : total;
  for (int64_t i = 0; i < count; ++i)
    row[i] = row[i] / divisor;
}

RowSummary summarize(const float *row, int64_t count) {
  RowSummary summary;
  for (int64_t first = 0; first < count; first += summaryGroup) {
    const int64_t size = std::min<int64_t>(count - first, summaryGroup);
    // Zero times infinity or NaN is NaN.
    std::vector<float> zeros, powers;
    for (int64_t i = first; i < first + size; ++i)
      zeros.push_back(std::fma(row[i], 0.0f, 0.0f));
    const float maximum =
        getMaximum(row + first, size) + sum(zeros.data(), size);
    for (int64_t i = first; i < first + size; ++i)
      powers.push_back(exp2((row[i] - maximum) * log2E));
    summary.maxima.push_back(maximum);
    summary.sums.push_back(sum(powers.data(), size));
  }
  return summary;
}

float quantize(float *head, int64_t count, float maxMagnitude) {
  float largest = 0;
  std::vector<float> zeros;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(head[i]));
    zeros.push_back(head[i] * 0.0f);
  }
  // An infinity or NaN makes the scale NaN.
  const float scale = largest / maxMagnitude + sum(zeros.data(), count);
  const float shift = 12582912;
  for (int64_t i = 0; i < count; ++i)
    head[i] = 0 < scale ? head[i] / scale + shift - shift : 0;
  return scale;
}

std::pair<float, float> quantizeGroup(float *group, int64_t count) {
  float largest = 0;
  bool isFinite = true;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(group[i]));
    isFinite &= std::isfinite(group[i]);
  }
  if (!isFinite || !(0x1p-100f < largest)) {
    std::fill_n(group, count, 0.0f);
    return {isFinite ? 0.0f : std::numeric_limits<float>::quiet_NaN(), 0.0f};
  }
  const float factor = 127 / largest, shift = 12582912;
  float sum = 0; // exact
  for (int64_t i = 0; i < count; ++i) {
    group[i] = group[i] * factor + shift - shift;
    sum += group[i];
  }
  return {largest / 127, sum};
}

} // namespace transom::bits
