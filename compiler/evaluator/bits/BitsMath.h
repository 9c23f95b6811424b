// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What generated code computes on rows of f32, as plain loops in the order of
// operations that passes/lower/README.md defines. Results have the bits of the
// machine code. Denormals are kept or not as the thread's `FloatMode` says.
#pragma once
#include "runtime/base/Activation.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace transom::bits {

constexpr float log2E = 1.4426950408889634;

/// How a chain of multiply-adds takes its operands.
enum class Chain {
  F32,  ///< one after another
  Bf16, ///< pairs of bf16, widened and multiplied one after the other
  Dot,  ///< pairs of bf16 as vdpbf16ps multiplies them
  /// As tdpbf16ps multiplies 32 numbers of bf16: those with an even and those
  /// with an odd index are a chain from zero each, and their sum is added.
  Amx
};
/// True where this CPU can run a chain.
bool runsHere(Chain chain);

/// sums[i, j] + a[i, 0] b[j, 0] + a[i, 1] b[j, 1] + ... for each row of a, [m,
/// count], and of b, [n, count]: one chain of fused multiply-adds. A last
/// number without a partner is paired with zero.
void multiply(Chain chain, const float *a, int64_t m, const float *b, int64_t n,
              int64_t count, float *sums);

/// The same of one row a.
void dotRows(Chain chain, std::vector<float> &sums, const float *a,
             const float *b, int64_t count);

/// One sum of `Chain::F32`.
float dot(float sum, const float *a, const float *b, int64_t count);

/// 2^x for x <= 0 by a polynomial; 0 below -126.
float exp2(float x);
/// e^x of activations.
float exp(float x);
float erf(float x);
float activate(Activation kind, float x);

/// Sum in 16 lanes by index, which are added by halves.
float sum(const float *values, int64_t count);

/// The largest number; a NaN counts for nothing.
float getMaximum(const float *values, int64_t count);
/// The larger number; 0 is larger than -0, and a NaN gives a NaN.
float maximum(float a, float b);
/// What is subtracted before exponentials: zero where all scores are hidden.
float getShift(float maximum);
/// Tells a sum of exponentials of hidden scores from one with a 1 in it.
bool isEmptySum(float sum);

/// What a norm does with a row.
struct NormParameters {
  const float *gamma; ///< [count]
  const float *beta;  ///< [count], or null
  float eps;
  bool rms;
};
/// LayerNorm or RMSNorm of a row.
void normalize(float *row, int64_t count, const NormParameters &norm);

/// Softmax of a row.
void softmax(float *row, int64_t count);

/// Maximum and sum of exponentials of each group of a row of logits; see
/// `kern.row_summary`.
struct RowSummary {
  std::vector<float> maxima, sums;
};
RowSummary summarize(const float *row, int64_t count);

/// The scale of the numbers of a head in a cache of whole numbers of at most
/// this magnitude. The numbers become whole.
float quantize(float *head, int64_t count, float maxMagnitude);

/// Makes the numbers of a group of a row whole, as `kern.quantize` does. Gives
/// their scale and their sum.
std::pair<float, float> quantizeGroup(float *group, int64_t count);

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// One key and value as one query sees them.
struct AttentionKey {
  const float *key = nullptr;         ///< [dk]
  const float *value = nullptr;       ///< [dv]
  float keyScale = 1, valueScale = 1; ///< of whole numbers in a cache
  bool visible = true;                ///< else it counts as absent
  bool selected = true;               ///< else its score is `hidden`
  float slope = 0;                    ///< of the distance
  float distance = 0;                 ///< from the query
  float bias = 0, mask = 0;           ///< added to the score
  /// Products of query and key with relative positions, not scaled.
  float toPosition = 0, fromPosition = 0;
};

/// What is the same for all keys of a head.
struct AttentionParameters {
  int64_t dk = 0, dv = 0;
  float scale = 1; ///< scale * log2 e; with a cap of positions only
  /// Soft cap: postCap * tanh(preCap * score), with log2 e in postCap; 0 for
  /// none.
  float preCap = 0, postCap = 0;
  float hidden = 0; ///< score of a key that is not selected, times log2 e
  Chain chain = Chain::F32; ///< in bf16 probabilities are rounded
};

/// Attention of one query row [dk] and head: KV blocks of 256 keys, merged in
/// order. Gives [dv].
std::vector<float> attend(const AttentionParameters &parameters,
                          const float *query,
                          const std::vector<AttentionKey> &keys);

} // namespace transom::bits
