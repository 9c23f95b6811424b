// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected kernel results by the definitions in
// compiler/evaluator/bits/BitsMath. Results are compared bit by bit. All
// matrices are dense and row-major.
#pragma once
#include "compiler/evaluator/bits/BitsMath.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom::test {

/// `x [m, k] times weight [n, k] transposed`. Each output is one chain of fused
/// multiply-adds over ascending k that starts with the bias (null: zero).
std::vector<float> referenceLinear(const std::vector<float> &x,
                                   const std::vector<float> &weight,
                                   const float *bias, int64_t m, int64_t n,
                                   int64_t k);

/// The same in bf16 as vdpbf16ps multiplies: the chain takes pairs along k; an
/// odd last element is paired with zero. Requires a CPU with this instruction.
std::vector<float> referenceDotLinear(const std::vector<float> &x,
                                      const std::vector<float> &weight,
                                      const float *bias, int64_t m, int64_t n,
                                      int64_t k);
/// The same with AMX, which adds the even and the odd elements in each 32 k
/// separately.
std::vector<float> referenceAmxLinear(const std::vector<float> &x,
                                      const std::vector<float> &weight,
                                      const float *bias, int64_t m, int64_t n,
                                      int64_t k);

/// Rounds to the nearest bf16 bits, ties to even.
uint16_t roundToBf16(float value);
float widenBf16(uint16_t bits);

/// 2^x for x <= 0 by the kernels' polynomial.
float referenceExp2(float x);

/// e^x for activations: Cody and Waite's reduction and a polynomial.
float referenceExp(float x);
/// An activation by its name in the IR, as kernels compute it.
float referenceActivation(const std::string &kind, float x);

/// The sum in 16 lanes by index, then halves.
float referenceSum(const float *values, int64_t count);

/// LayerNorm (or RMSNorm) for one row; beta may be null.
std::vector<float> referenceNorm(const float *row, int64_t count,
                                 const float *gamma, const float *beta,
                                 float eps, bool rms);

/// The softmax for one row.
std::vector<float> referenceSoftmax(const float *row, int64_t count);
/// The max and the sum of exponentials for each group of 64 elements in one
/// row.
struct ReferenceRowSummary {
  std::vector<float> maxima, sums;
};
ReferenceRowSummary referenceRowSummary(const float *row, int64_t count);

/// One attention head for one query row; see `bits::attend`.
struct ReferenceAttention {
  const float *query;             ///< [dk]
  const float *keys, *values;     ///< for key 0
  int64_t keyStride, valueStride; ///< floats from one key to the next
  int64_t dk, dv;
  float scale; ///< scale times log2 e
  float preCap = 0,
        postCap = 0;          ///< cap: postCap * tanh(preCap * s), 0 for none
  std::vector<bool> visible;  ///< by key
  std::vector<float> added;   ///< by key, empty for none
  std::vector<bool> selected; ///< by key, empty for none
  float hidden;               ///< score where not selected
  float slope = 0;            ///< by distance to `position`
  int64_t position = 0;       ///< the query's position among the keys
  /// By key, empty for none: dot products between query or key and the relative
  /// position.
  std::vector<float> toPosition, fromPosition;
  /// By key, empty for none: factors for its score and its probability.
  std::vector<float> keyScales, valueScales;
  /// The bf16 chain for which probabilities are rounded; F32: no rounding.
  bits::Chain chain = bits::Chain::F32;
};
/// The result row by the definition: KV blocks with 256 keys, merged in order.
std::vector<float> referenceAttention(const ReferenceAttention &attention);

} // namespace transom::test
