// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled with FMA and without contraction, so that std::fma is one
// instruction and nothing else is fused.
#include "test/support/Reference.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace transom;

static constexpr float kLog2E = 1.4426950408889634;
static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr int64_t kKvBlock = 256;

std::vector<float> test::referenceLinear(const std::vector<float> &x,
                                         const std::vector<float> &weight,
                                         const float *bias, int64_t m,
                                         int64_t n, int64_t k) {
  std::vector<float> columns(n * k), out(m * n);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < k; ++i)
      columns[i * n + j] = weight[j * k + i];
  for (int64_t row = 0; row < m; ++row) {
    float *sums = out.data() + row * n;
    for (int64_t j = 0; j < n; ++j)
      sums[j] = bias ? bias[j] : 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        sums[j] = std::fma(x[row * k + i], columns[i * n + j], sums[j]);
  }
  return out;
}

uint16_t test::roundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float test::widenBf16(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

/// Two numbers of bf16 in a word, the first in the lower half.
static int32_t makePair(float first, float second) {
  return int32_t(uint32_t(test::roundToBf16(second)) << 16 |
                 test::roundToBf16(first));
}

#if defined(__x86_64__)
/// sum + the products of a pair, in all 16 lanes.
__attribute__((target("avx512f,avx512bf16"))) static void
addPairs(float *sums, const int32_t *x, const int32_t *y) {
  __m512 sum = _mm512_loadu_ps(sums);
  sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_loadu_si512(x),
                         (__m512bh)_mm512_loadu_si512(y));
  _mm512_storeu_ps(sums, sum);
}
#else
static void addPairs(float *, const int32_t *, const int32_t *) {}
#endif

std::vector<float> test::referenceDotLinear(const std::vector<float> &x,
                                            const std::vector<float> &weight,
                                            const float *bias, int64_t m,
                                            int64_t n, int64_t k) {
  const int64_t pairs = (k + 1) / 2, lines = (n + 15) / 16 * 16;
  auto pair = [&](const float *row, int64_t i) {
    return makePair(row[2 * i], 2 * i + 1 < k ? row[2 * i + 1] : 0);
  };
  std::vector<int32_t> columns(pairs * lines);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < pairs; ++i)
      columns[i * lines + j] = pair(weight.data() + j * k, i);
  std::vector<float> out;
  for (int64_t row = 0; row < m; ++row) {
    std::vector<float> sums(lines);
    if (bias)
      std::copy(bias, bias + n, sums.begin());
    for (int64_t i = 0; i < pairs; ++i) {
      std::vector<int32_t> value(16, pair(x.data() + row * k, i));
      for (int64_t j = 0; j < lines; j += 16)
        addPairs(sums.data() + j, value.data(), columns.data() + i * lines + j);
    }
    out.insert(out.end(), sums.begin(), sums.begin() + n);
  }
  return out;
}

float test::referenceExp2(float x) {
  if (x < -126)
    return 0;
  float n = std::floor(x), f = x - n;
  const double c[] = {1.0,           0.69315248728, 0.24015279114,
                      0.05583592132, 0.00897337683, 0.00188529585};
  float p = c[5];
  for (int i = 4; i >= 0; --i)
    p = std::fma(p, f, float(c[i]));
  return std::ldexp(p, int(n));
}

/// A polynomial by Horner's rule; coefficients start with the constant term.
static float horner(float x, std::initializer_list<double> coefficients) {
  const double *c = coefficients.end() - 1;
  float sum = float(*c);
  while (c-- != coefficients.begin())
    sum = std::fma(sum, x, float(*c));
  return sum;
}

/// x in [low, high]; a NaN stays a NaN.
static float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return high < x ? high : x;
}

float test::referenceExp(float x) {
  const float shift = 12582912, bounded = clamp(x, -104, 89);
  const float shifted = std::fma(bounded, kLog2E, shift), n = shifted - shift;
  float r = std::fma(n, -0.693145751953125f, bounded);
  r = std::fma(n, -1.428606765330187e-06f, r);
  const float p =
      horner(r * kLog2E, {1.0, 0.6931472067106192, 0.24022651213595259,
                          0.05550327214209211, 0.009618025602937879,
                          0.0013400432165501582, 0.00015469731983877433});
  if (std::isnan(x))
    return x;
  const int whole = int(n), half = whole >> 1;
  return p * std::ldexp(1.0f, half) * std::ldexp(1.0f, whole - half);
}

static float referenceErf(float x) {
  const float z = clamp(x, -3.95f, 3.95f), u = z * z;
  const float p =
      horner(u, {1.12837874, 0.20899626, 0.0517774218, 0.00409023874,
                 0.000151344945, -1.99156679e-06, 1.96415675e-08});
  const float q =
      horner(u, {1.0, 0.518546486, 0.118754099, 0.0151320846, 0.00105108694});
  if (float(3.92 * 3.92) < u)
    return z < 0 ? -1 : 1;
  return z * p / q;
}

static float referenceSigmoid(float x) {
  return 1 / (1 + test::referenceExp(0 - x));
}

static float referenceTanh(float x) {
  const float size = x < 0 ? 0 - x : x, t = test::referenceExp(size * -2);
  const float series =
      horner(x * x, {1.0, -1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835});
  const float value = size < 0.3f ? size * series : (1 - t) / (1 + t);
  return x < 0 ? 0 - value : value;
}

float test::referenceActivation(const std::string &kind, float x) {
  if (kind == "relu")
    return x < 0 ? 0 : x;
  if (kind == "gelu") {
    const float half = x * 0.5f;
    return std::fma(half, referenceErf(x * 0.7071067811865476f), half);
  }
  if (kind == "gelu_tanh") {
    const float inner = std::fma(x * x * x, 0.044715f, x) * 0.7978845608028654f;
    const float half = x * 0.5f;
    return std::fma(half, referenceTanh(inner), half);
  }
  if (kind == "quick_gelu")
    return x * referenceSigmoid(x * 1.702f);
  if (kind == "silu")
    return x * referenceSigmoid(x);
  if (kind == "tanh")
    return referenceTanh(x);
  if (kind == "sigmoid")
    return referenceSigmoid(x);
  if (kind == "exp")
    return referenceExp(x);
  if (kind == "neg")
    return 0 - x;
  if (kind == "sqrt")
    return std::sqrt(x);
  if (kind == "rsqrt")
    return 1 / std::sqrt(x);
  throw std::invalid_argument("unknown activation '" + kind + "'");
}

/// Adds 16 lanes by halves.
static float sumLanes(float *lanes) {
  for (int half = 8; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i)
      lanes[i] = lanes[i] + lanes[i + half];
  return lanes[0];
}

float test::referenceSum(const float *values, int64_t count) {
  float lanes[16] = {};
  for (int64_t i = 0; i < count; ++i)
    lanes[i % 16] = lanes[i % 16] + values[i];
  return sumLanes(lanes);
}

std::vector<float> test::referenceNorm(const float *row, int64_t count,
                                       const float *gamma, const float *beta,
                                       float eps, bool rms) {
  float width = count, mean = rms ? 0 : referenceSum(row, count) / width;
  std::vector<float> squares(count), out(count);
  for (int64_t i = 0; i < count; ++i)
    squares[i] = (row[i] - mean) * (row[i] - mean);
  float factor =
      1 / std::sqrt(referenceSum(squares.data(), count) / width + eps);
  for (int64_t i = 0; i < count; ++i) {
    float normal = (row[i] - mean) * factor;
    out[i] = beta ? std::fma(normal, gamma[i], beta[i]) : normal * gamma[i];
  }
  return out;
}

std::vector<float> test::referenceSoftmax(const float *row, int64_t count) {
  float maximum = -kInfinity;
  for (int64_t i = 0; i < count; ++i)
    maximum = std::max(maximum, row[i]);
  float shift = maximum == -kInfinity ? 0 : maximum;
  std::vector<float> out(count);
  for (int64_t i = 0; i < count; ++i)
    out[i] = referenceExp2((row[i] - shift) * kLog2E);
  float total = referenceSum(out.data(), count),
        divisor = total == 0 ? 1 : total;
  for (float &p : out)
    p = p / divisor;
  return out;
}

test::ReferenceRowSummary test::referenceRowSummary(const float *row,
                                                    int64_t count) {
  ReferenceRowSummary summary;
  for (int64_t first = 0; first < count; first += 64) {
    const int64_t size = std::min<int64_t>(count - first, 64);
    // A maximum of zero is positive.
    float maximum = *std::max_element(row + first, row + first + size) + 0.0f;
    std::vector<float> powers;
    for (int64_t i = first; i < first + size; ++i)
      powers.push_back(referenceExp2((row[i] - maximum) * kLog2E));
    summary.maxima.push_back(maximum);
    summary.sums.push_back(referenceSum(powers.data(), size));
  }
  return summary;
}

/// A row times the rows of a matrix, as the operands' type multiplies.
static std::vector<float> chains(const test::ReferenceAttention &a,
                                 const std::vector<float> &x,
                                 const std::vector<float> &rows, int64_t n) {
  auto linear = a.dot ? test::referenceDotLinear : test::referenceLinear;
  return linear(x, rows, nullptr, 1, n, int64_t(x.size()));
}

/// Scores of `count` keys from `first` on, in units of log2; minus infinity
/// where they are hidden.
static std::vector<float> scores(const test::ReferenceAttention &a,
                                 int64_t first, int64_t count) {
  std::vector<float> keys;
  for (int64_t j = 0; j < count; ++j) {
    const float *key = a.keys + (first + j) * a.keyStride;
    keys.insert(keys.end(), key, key + a.dk);
  }
  std::vector<float> all = chains(a, {a.query, a.query + a.dk}, keys, count);
  for (int64_t j = 0; j < count; ++j) {
    float s = all[j];
    if (!a.keyScales.empty())
      s *= a.keyScales[first + j];
    float t =
        a.postCap != 0 ? referenceTanh(s * a.preCap) * a.postCap : s * a.scale;
    if (a.slope != 0)
      t = std::fma(a.slope * kLog2E, float(first + j - a.position), t);
    if (!a.added.empty())
      t = std::fma(a.added[first + j], kLog2E, t);
    if (!a.selected.empty() && !a.selected[first + j])
      t = a.hidden;
    all[j] = a.visible[first + j] ? t : -kInfinity;
  }
  return all;
}

std::vector<float> test::referenceAttention(const ReferenceAttention &a) {
  int64_t keys = a.visible.size();
  float M = -kInfinity, L = 0;
  std::vector<float> O(a.dv);
  for (int64_t first = 0; first < keys; first += kKvBlock) {
    int64_t count = std::min(kKvBlock, keys - first);
    std::vector<float> p = scores(a, first, count);
    float m = *std::max_element(p.begin(), p.end());
    if (m == -kInfinity)
      continue;
    for (float &t : p) {
      t = referenceExp2(t - m);
      if (a.bf16)
        t = widenBf16(roundToBf16(t));
    }
    float l = referenceSum(p.data(), count);
    float N = std::max(M, m), before = referenceExp2(M - N),
          own = referenceExp2(m - N);
    L = std::fma(l, own, L * before);
    for (int64_t j = 0; j < count && !a.valueScales.empty(); ++j)
      p[j] *= a.valueScales[first + j];
    std::vector<float> columns;
    for (int64_t d = 0; d < a.dv; ++d)
      for (int64_t j = 0; j < count; ++j)
        columns.push_back(a.values[(first + j) * a.valueStride + d]);
    std::vector<float> o = chains(a, p, columns, a.dv);
    for (int64_t d = 0; d < a.dv; ++d)
      O[d] = std::fma(o[d], own, O[d] * before);
    M = N;
  }
  for (float &o : O)
    o = L == 0 ? 0 : o / L;
  return O;
}
