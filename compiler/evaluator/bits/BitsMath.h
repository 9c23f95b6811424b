// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row computations in generated code on f32, as plain loops in the order that
// passes/lower/README.md defines. Results have the bits that machine code
// computes. The thread's `FloatMode` determines whether denormals are kept.
#pragma once
#include "runtime/base/Activation.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace transom::bits {

constexpr float log2E = 1.4426950408889634;

/// How a chain of multiply-adds reads its operands.
enum class Chain {
  F32,  ///< sequentially
  Bf16, ///< bf16 pairs, widened and multiplied sequentially
  Dot,  ///< bf16 pairs, as vdpbf16ps multiplies them
  /// As tdpbf16ps multiplies 32 bf16 elements: even and odd indices each form a
  /// chain from zero, and their sum is added.
  Amx
};
/// True if this CPU can run a chain.
bool runsHere(Chain chain);

/// Adds a[i, 0] b[j, 0] + a[i, 1] b[j, 1] + ... to sums[i, j] for the rows in a
/// [m, count] and b [n, count], as one chain of fused multiply-adds. A last
/// element without a partner is paired with zero.
void multiply(Chain chain, const float *a, int64_t m, const float *b, int64_t n,
              int64_t count, float *sums);

/// The same for one row a.
void dotRows(Chain chain, std::vector<float> &sums, const float *a,
             const float *b, int64_t count);

/// One sum in `Chain::F32`.
float dot(float sum, const float *a, const float *b, int64_t count);

/// A polynomial for 2^x with x <= 0; 0 below -126.
float exp2(float x);
/// e^x for activations.
float exp(float x);
float erf(float x);
float activate(Activation kind, float x);

/// Sums in 16 lanes by index, then adds the lanes by halves.
float sum(const float *values, int64_t count);

/// The largest element; ignores NaN.
float getMaximum(const float *values, int64_t count);
/// The larger number; 0 is larger than -0, and NaN propagates.
float maximum(float a, float b);
/// The number to subtract before exponentials: zero if all scores are hidden.
float getShift(float maximum);
/// Distinguishes a sum over hidden scores from a sum that contains a 1.
bool isEmptySum(float sum);

/// Norm parameters.
struct NormParameters {
  const float *gamma; ///< [count]
  const float *beta;  ///< [count], or null
  float eps;
  bool rms;
};
/// LayerNorm or RMSNorm over a row.
void normalize(float *row, int64_t count, const NormParameters &norm);

/// Softmax over a row.
void softmax(float *row, int64_t count);

/// Maximum and exponential sum for each group in a row of logits; see
/// `kern.row_summary`.
struct RowSummary {
  std::vector<float> maxima, sums;
};
RowSummary summarize(const float *row, int64_t count);

/// Quantizes a head to integers with at most this magnitude, for a cache;
/// returns the scale.
float quantize(float *head, int64_t count, float maxMagnitude);

/// Quantizes a group to integers, as `kern.quantize` does; returns the scale
/// and the sum.
std::pair<float, float> quantizeGroup(float *group, int64_t count);

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// One key and value for one query.
struct AttentionKey {
  const float *key = nullptr;         ///< [dk]
  const float *value = nullptr;       ///< [dv]
  float keyScale = 1, valueScale = 1; ///< for integers in a cache
  bool visible = true;                ///< otherwise the key is absent
  bool selected = true;               ///< otherwise its score is `hidden`
  float slope = 0;                    ///< for this distance
  float distance = 0;                 ///< from the query
  float bias = 0, mask = 0;           ///< added to the score
  /// Unscaled dot products with relative positions.
  float toPosition = 0, fromPosition = 0;
};

/// Parameters that all keys in a head share.
struct AttentionParameters {
  int64_t dk = 0, dv = 0;
  float scale = 1; ///< scale * log2 e; with a cap, only for positions
  /// Soft cap: postCap * tanh(preCap * score), with log2 e in postCap; 0: none.
  float preCap = 0, postCap = 0;
  float hidden = 0; ///< score for a key that is not selected, times log2 e
  Chain chain = Chain::F32; ///< a bf16 chain rounds probabilities
};

/// Attention for one query row [dk] and head: KV blocks with 256 keys, merged
/// in order. Returns [dv].
std::vector<float> attend(const AttentionParameters &parameters,
                          const float *query,
                          const std::vector<AttentionKey> &keys);

} // namespace transom::bits
