// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `kern.attention` in the bits domain: by KV blocks, with log2 scores and
// integers in a cache separate from their scales.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/kern/KernAttention.h"

using namespace mlir;

namespace transom {

using namespace kern;

/// log2 e as a factor for constants, which are rounded afterwards.
static constexpr double log2E = 1.4426950408889634;

bits::AttentionParameters KernAttention::getBitsParameters(const Bits &bits) {
  bits::AttentionParameters parameters;
  parameters.dk = dk;
  parameters.dv = dv;
  const double scale = op.getScale().convertToDouble();
  const double cap = op.getSoftCap().convertToDouble();
  parameters.scale = static_cast<float>(scale * log2E);
  if (cap != 0) {
    parameters.preCap = static_cast<float>(scale / cap);
    parameters.postCap = static_cast<float>(cap * log2E);
  }
  parameters.hidden =
      op.getMaskValue()
          ? static_cast<float>(op.getMaskValue()->convertToDouble() * log2E)
          : -std::numeric_limits<float>::infinity();
  auto query = cast<BufferType>(op.getQuery().getType());
  parameters.chain = op.suitsAmx() ? bits.getTileChain()
                                   : bits.getChain(query.getFormat().element);
  return parameters;
}

/// The key without its elements, for one query.
bits::AttentionKey KernAttention::getBitsKey(int64_t sequence, int64_t head,
                                             const Token &query,
                                             const Token &key) {
  bits::AttentionKey result;
  const int64_t own = position(sequence, query), distance = key.place - own;
  result.visible = inReach(own, key.place);
  if (!result.visible)
    return result;
  // Biases by distance.
  if (op.getSlopes())
    result.slope = toFloat(slopeAt(e.tensor(op.getSlopes()), head, distance));
  result.distance = static_cast<float>(distance);
  if (op.getRelativeBias())
    result.bias = toFloat(relativeBias(head, distance));
  if (Value scores = op.getContentToPosition())
    result.toPosition =
        toFloat(positionScore(scores, query.row, head, -distance));
  if (Value scores = op.getPositionToContent())
    result.fromPosition =
        toFloat(positionScore(scores, key.row, head, -distance));
  // The mask selects keys or adds to scores.
  if (op.getMask()) {
    Number mask = maskAt(sequence, head, query, key);
    if (isBoolMask())
      result.selected = mask.real() != 0;
    else
      result.mask = toFloat(mask);
  }
  // A quantized cache has one scale per head.
  if (op.getCache() && !kept[sequence]->keyScales.empty()) {
    const CacheStore::Entry &entry = *kept[sequence];
    result.keyScale = toFloat(entry.keyScales[key.row][head / group]);
    result.valueScale = toFloat(entry.valueScales[key.row][head / group]);
  }
  return result;
}

void KernAttention::attendInBits(int64_t sequence, int64_t head,
                                 const Token &query, const Bits &bits) {
  if (readHead(sequence, head / group)) {
    floatKeys = toFloats(lastRead.keys);
    floatValues = toFloats(lastRead.values);
  }
  std::vector<bits::AttentionKey> all;
  for (auto [i, key] : llvm::enumerate(keys[sequence])) {
    all.push_back(getBitsKey(sequence, head, query, key));
    all.back().key = floatKeys.data() + i * dk;
    all.back().value = floatValues.data() + i * dv;
  }
  const std::vector<float> row = toFloats(readQuery(head, query));
  std::vector<float> out =
      bits::attend(getBitsParameters(bits), row.data(), all);
  std::vector<Number> numbers;
  for (float x : out)
    numbers.push_back(fromFloat(x));
  writeHead(head, query, numbers);
}

} // namespace transom
