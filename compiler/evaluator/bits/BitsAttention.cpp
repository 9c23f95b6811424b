// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention for a query row in the order that generated code uses: KV blocks
// with 256 keys are merged in order. Each block computes scores, their maximum,
// probabilities, their sum, and a product with the values that starts from
// zero.
#include "compiler/evaluator/bits/BitsMath.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/DType.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace transom::bits {

static constexpr float infinity = std::numeric_limits<float>::infinity();

namespace {

/// Keys in one KV block.
struct Block {
  const AttentionKey *keys;
  int64_t count;
};

/// Softmax over some KV blocks, before the division by its sum.
struct State {
  float maximum = -infinity;
  float sum = 0;
  std::vector<float> output; ///< [dv]
};

} // namespace

/// Dot products between a query and the visible keys.
static std::vector<float> multiplyKeys(const AttentionParameters &p,
                                       const float *query, Block block) {
  std::vector<float> products(block.count), keys(block.count * p.dk);
  for (int64_t j = 0; j < block.count; ++j)
    if (block.keys[j].visible)
      std::copy_n(block.keys[j].key, p.dk, &keys[j * p.dk]);
  dotRows(p.chain, products, query, keys.data(), p.dk);
  return products;
}

/// The score for a key, in units of log2.
static float getScore(const AttentionParameters &p, float product,
                      const AttentionKey &key) {
  if (!key.visible)
    return -infinity;
  float t = product * key.keyScale;
  t = p.postCap != 0 ? activate(Activation::Tanh, t * p.preCap) * p.postCap
                     : t * p.scale;
  t = std::fma(key.slope * log2E, key.distance, t);
  t = std::fma(key.bias, log2E, t);
  t = std::fma(key.toPosition, p.scale, t);
  t = std::fma(key.fromPosition, p.scale, t);
  t = std::fma(key.mask, log2E, t);
  return key.selected ? t : p.hidden;
}

/// Probabilities times values.
static std::vector<float> multiply(const AttentionParameters &p, Block block,
                                   const std::vector<float> &probabilities) {
  std::vector<float> output(p.dv), columns(p.dv * block.count);
  for (int64_t j = 0; j < block.count; ++j)
    for (int64_t d = 0; d < p.dv; ++d)
      columns[d * block.count + j] = block.keys[j].value[d];
  dotRows(p.chain, output, probabilities.data(), columns.data(), block.count);
  return output;
}

static State attendBlock(const AttentionParameters &p, const float *query,
                         Block block) {
  std::vector<float> row = multiplyKeys(p, query, block);
  for (int64_t j = 0; j < block.count; ++j)
    row[j] = getScore(p, row[j], block.keys[j]);
  State state;
  state.maximum = getMaximum(row.data(), block.count);
  const float shift = getShift(state.maximum);
  for (float &t : row) {
    t = exp2(t - shift);
    if (p.chain != Chain::F32)
      t = bfloat16ToFloat(floatToBfloat16(t));
  }
  state.sum = sum(row.data(), block.count);
  for (int64_t j = 0; j < block.count; ++j)
    row[j] *= block.keys[j].valueScale;
  state.output = multiply(p, block, row);
  return state;
}

/// Merges a later KV block into the state.
static void merge(State &state, const State &block) {
  const float maximum = std::max(state.maximum, block.maximum);
  const float shift = getShift(maximum);
  const float before = exp2(state.maximum - shift);
  const float own = exp2(block.maximum - shift);
  state.maximum = maximum;
  state.sum = std::fma(block.sum, own, state.sum * before);
  for (size_t d = 0; d < state.output.size(); ++d)
    state.output[d] = std::fma(block.output[d], own, state.output[d] * before);
}

std::vector<float> attend(const AttentionParameters &parameters,
                          const float *query,
                          const std::vector<AttentionKey> &keys) {
  const auto count = static_cast<int64_t>(keys.size());
  State state;
  state.output.resize(parameters.dv);
  for (int64_t first = 0; first < count; first += kvBlockSize) {
    const Block block = {&keys[first], std::min(kvBlockSize, count - first)};
    State own = attendBlock(parameters, query, block);
    if (first == 0)
      state = std::move(own);
    else
      merge(state, own);
  }
  for (float &x : state.output)
    x = isEmptySum(state.sum) ? 0 : x / state.sum;
  return std::move(state.output);
}

} // namespace transom::bits
