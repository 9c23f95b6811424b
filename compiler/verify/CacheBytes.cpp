// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KV block layout, as documented for `!kern.cache`.
#include "compiler/verify/CacheBytes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/abi/Layout.h"

using namespace mlir;

namespace transom {

CacheBytes::CacheBytes(kern::CacheType type, int64_t position)
    : type(type), format(type.getFormat()), position(position),
      width(type.getElementBytes()) {}

/// Keys are [256 / 32][depth / interleave][32][interleave].
int64_t CacheBytes::getKeyOffset(int64_t head, int64_t i) const {
  const int64_t depth = type.getDepth(), interleave = format.interleave;
  const int64_t panel = position / panelWidth, lane = position % panelWidth;
  return (head * depth * kvBlockSize + panel * depth * panelWidth +
          (i / interleave * panelWidth + lane) * interleave + i % interleave) *
         width;
}

/// Values are [256 / interleave][value][interleave].
int64_t CacheBytes::getValueOffset(int64_t head, int64_t i) const {
  const int64_t columns = type.getValue(), interleave = format.interleave;
  return type.getKeyBytes() + (head * columns * kvBlockSize +
                               position / interleave * columns * interleave +
                               i * interleave + position % interleave) *
                                  width;
}

int64_t CacheBytes::getScaleOffset(int64_t head, bool ofKey) const {
  return (ofKey ? type.getKeyScales() : type.getValueScales()) +
         (head * kvBlockSize + position) * static_cast<int64_t>(sizeof(float));
}

void CacheBytes::forEachPart(function_ref<void(int64_t, int64_t)> visit) const {
  for (int64_t head = 0; head < type.getHeads(); ++head) {
    for (int64_t i = 0; i < type.getKey(); ++i)
      visit(getKeyOffset(head, i), width);
    // Padding after a key is written with it.
    for (int64_t i = type.getKey(); i < type.getDepth(); ++i)
      visit(getKeyOffset(head, i), width);
    for (int64_t i = 0; i < type.getValue(); ++i)
      visit(getValueOffset(head, i), width);
    for (bool ofKey : {true, false})
      if (format.hasScales())
        visit(getScaleOffset(head, ofKey), sizeof(float));
  }
}

void CachedPosition::applyScales() {
  for (KernEvaluation::CachedRow *row : {&key, &value}) {
    // The product is exact: elements and scales have few bits.
    const size_t heads = row->scales.size();
    for (size_t i = 0; heads && i < row->elements.size(); ++i)
      row->elements[i] = row->elements[i].real() *
                         row->scales[i * heads / row->elements.size()].real();
    row->scales.clear();
  }
}

CachedPosition CacheBytes::decode(const char *layer) const {
  CachedPosition result;
  const Type scale = Float32Type::get(type.getContext());
  for (bool ofKey : {true, false}) {
    KernEvaluation::CachedRow &row = ofKey ? result.key : result.value;
    for (int64_t head = 0; head < type.getHeads(); ++head) {
      if (format.hasScales())
        row.scales.push_back(
            decodeElement(scale, layer + getScaleOffset(head, ofKey)));
      for (int64_t i = 0; i < (ofKey ? type.getKey() : type.getValue()); ++i)
        row.elements.push_back(decodeElement(
            type.getElementType(),
            layer + (ofKey ? getKeyOffset(head, i) : getValueOffset(head, i))));
    }
  }
  return result;
}

void CacheBytes::encode(const CachedPosition &numbers, char *layer) const {
  const Type scale = Float32Type::get(type.getContext());
  for (bool ofKey : {true, false}) {
    const KernEvaluation::CachedRow &row = ofKey ? numbers.key : numbers.value;
    const int64_t columns = ofKey ? type.getKey() : type.getValue();
    for (int64_t head = 0; head < type.getHeads(); ++head) {
      if (format.hasScales())
        encodeElement(scale, row.scales[head],
                      layer + getScaleOffset(head, ofKey));
      for (int64_t i = 0; i < columns; ++i)
        encodeElement(
            type.getElementType(), row.elements[head * columns + i],
            layer + (ofKey ? getKeyOffset(head, i) : getValueOffset(head, i)));
    }
  }
}

} // namespace transom
