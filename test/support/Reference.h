// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels must compute, by the definitions of
// compiler/evaluator/bits/BitsMath: results are compared bit by bit. All
// matrices are dense and row-major.
#pragma once
#include "compiler/evaluator/bits/BitsMath.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom::test {

/// `x [m, k] times weight [n, k] transposed`, one chain of fused
/// multiply-adds over ascending k an output, from the bias (null: zero).
std::vector<float> referenceLinear(const std::vector<float> &x,
                                   const std::vector<float> &weight,
                                   const float *bias, int64_t m, int64_t n,
                                   int64_t k);

/// The same with numbers of bf16 as vdpbf16ps multiplies them: the chain takes
/// pairs of k, a last one without a partner beside zeros. Runs where the CPU
/// has the instruction.
std::vector<float> referenceDotLinear(const std::vector<float> &x,
                                      const std::vector<float> &weight,
                                      const float *bias, int64_t m, int64_t n,
                                      int64_t k);
/// The same with AMX, which adds the even and the odd k of 32 apart.
std::vector<float> referenceAmxLinear(const std::vector<float> &x,
                                      const std::vector<float> &weight,
                                      const float *bias, int64_t m, int64_t n,
                                      int64_t k);

/// The bits of the nearest bf16, of two equally near the even one.
uint16_t roundToBf16(float value);
float widenBf16(uint16_t bits);

/// 2^x for x <= 0 by the polynomial of the kernels.
float referenceExp2(float x);

/// e^x of activations: Cody and Waite's reduction and a polynomial.
float referenceExp(float x);
/// An activation by its name in the IR, as kernels compute it.
float referenceActivation(const std::string &kind, float x);

/// Sum in 16 lanes by index, then halves.
float referenceSum(const float *values, int64_t count);

/// LayerNorm (or RMSNorm) of one row; beta may be null.
std::vector<float> referenceNorm(const float *row, int64_t count,
                                 const float *gamma, const float *beta,
                                 float eps, bool rms);

/// Softmax of one row.
std::vector<float> referenceSoftmax(const float *row, int64_t count);
/// Maximum and sum of exponentials of each 64 numbers of one row.
struct ReferenceRowSummary {
  std::vector<float> maxima, sums;
};
ReferenceRowSummary referenceRowSummary(const float *row, int64_t count);

/// One head of attention for one query row; see `bits::attend`.
struct ReferenceAttention {
  const float *query;             ///< [dk]
  const float *keys, *values;     ///< of key 0
  int64_t keyStride, valueStride; ///< floats from one key to the next
  int64_t dk, dv;
  float scale; ///< scale times log2 e
  float preCap = 0,
        postCap = 0;          ///< cap: postCap * tanh(preCap * s), 0 for none
  std::vector<bool> visible;  ///< by key
  std::vector<float> added;   ///< by key, empty for none
  std::vector<bool> selected; ///< by key, empty for none
  float hidden;               ///< score where not selected
  float slope = 0;            ///< of the distance to `position`
  int64_t position = 0;       ///< of the query among the keys
  /// By key, empty for none: products of the query and of the key with its
  /// relative position.
  std::vector<float> toPosition, fromPosition;
  /// By key, empty for none: factors of its score and of its probability.
  std::vector<float> keyScales, valueScales;
  /// Of bf16, to which probabilities are rounded, unless it is that of f32.
  bits::Chain chain = bits::Chain::F32;
};
/// The row of the result, by the definition: KV blocks of 256 keys, merged in
/// order.
std::vector<float> referenceAttention(const ReferenceAttention &attention);

} // namespace transom::test
