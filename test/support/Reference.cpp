// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts test operands to BitsMath operands.
#include "test/support/Reference.h"
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace transom;

/// A matmul whose outputs are FMA chains.
static std::vector<float> multiply(bits::Chain chain,
                                   const std::vector<float> &x,
                                   const std::vector<float> &weight,
                                   const float *bias, int64_t n, int64_t k) {
  std::vector<float> out;
  for (size_t row = 0; row < x.size(); row += k) {
    std::vector<float> sums(n);
    if (bias)
      sums.assign(bias, bias + n);
    bits::dotRows(chain, sums, x.data() + row, weight.data(), k);
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

std::vector<float> test::referenceLinear(const std::vector<float> &x,
                                         const std::vector<float> &weight,
                                         const float *bias, int64_t m,
                                         int64_t n, int64_t k) {
  return multiply(bits::Chain::F32, {x.begin(), x.begin() + m * k}, weight,
                  bias, n, k);
}

std::vector<float> test::referenceDotLinear(const std::vector<float> &x,
                                            const std::vector<float> &weight,
                                            const float *bias, int64_t m,
                                            int64_t n, int64_t k) {
  return multiply(bits::Chain::Dot, {x.begin(), x.begin() + m * k}, weight,
                  bias, n, k);
}

std::vector<float> test::referenceAmxLinear(const std::vector<float> &x,
                                            const std::vector<float> &weight,
                                            const float *bias, int64_t m,
                                            int64_t n, int64_t k) {
  return multiply(bits::Chain::Amx, {x.begin(), x.begin() + m * k}, weight,
                  bias, n, k);
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

float test::referenceExp2(float x) { return bits::exp2(x); }

float test::referenceExp(float x) { return bits::exp(x); }

float test::referenceActivation(const std::string &kind, float x) {
  std::optional<Activation> known = parseActivation(kind);
  if (!known)
    throw std::invalid_argument("unknown activation '" + kind + "'");
  return bits::activate(*known, x);
}

float test::referenceSum(const float *values, int64_t count) {
  return bits::sum(values, count);
}

std::vector<float> test::referenceNorm(const float *row, int64_t count,
                                       const float *gamma, const float *beta,
                                       float eps, bool rms) {
  std::vector<float> out(row, row + count);
  bits::normalize(out.data(), count, {gamma, beta, eps, rms});
  return out;
}

std::vector<float> test::referenceSoftmax(const float *row, int64_t count) {
  std::vector<float> out(row, row + count);
  bits::softmax(out.data(), count);
  return out;
}

test::ReferenceRowSummary test::referenceRowSummary(const float *row,
                                                    int64_t count) {
  bits::RowSummary summary = bits::summarize(row, count);
  return {summary.maxima, summary.sums};
}

/// One key as the query sees it.
static bits::AttentionKey getKey(const test::ReferenceAttention &a, int64_t j) {
  bits::AttentionKey key;
  key.key = a.keys + j * a.keyStride;
  key.value = a.values + j * a.valueStride;
  if (!a.keyScales.empty()) {
    key.keyScale = a.keyScales[j];
    key.valueScale = a.valueScales[j];
  }
  key.visible = a.visible[j];
  key.selected = a.selected.empty() || a.selected[j];
  key.slope = a.slope;
  key.distance = float(j - a.position);
  key.mask = a.added.empty() ? 0 : a.added[j];
  if (!a.toPosition.empty())
    key.toPosition = a.toPosition[j];
  if (!a.fromPosition.empty())
    key.fromPosition = a.fromPosition[j];
  return key;
}

std::vector<float> test::referenceAttention(const ReferenceAttention &a) {
  bits::AttentionParameters parameters;
  parameters.dk = a.dk;
  parameters.dv = a.dv;
  parameters.scale = a.scale;
  parameters.preCap = a.preCap;
  parameters.postCap = a.postCap;
  parameters.hidden = a.hidden;
  parameters.chain = a.chain;
  std::vector<bits::AttentionKey> keys;
  for (size_t j = 0; j < a.visible.size(); ++j)
    keys.push_back(getKey(a, int64_t(j)));
  return bits::attend(parameters, a.query, keys);
}
