// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight expressions for tables: computed or literal, without a file or an
// operand. Each evaluates a block in f32 or in float64.
#pragma once
#include "dialects/weights/WeightNode.h"
#include <algorithm>

namespace transom {

using Shape = std::vector<int64_t>;

/// A tensor block.
struct Block {
  Shape offsets, sizes;
  int64_t count() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }
  bool empty() const {
    return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  }
};

/// `Sinusoid`.
template <typename Element>
void evaluateSinusoid(const WeightExpr &e, const Block &block, Element *out);
/// `Angles` with a shape.
template <typename Element>
void evaluateAngles(const WeightExpr &e, const Shape &shape, const Block &block,
                    Element *out);
/// `Values`.
template <typename Element>
void evaluateValues(const WeightExpr &e, const Block &block, Element *out);
/// `Triangle`.
template <typename Element>
void evaluateTriangle(const WeightExpr &e, const Block &block, Element *out);

} // namespace transom
