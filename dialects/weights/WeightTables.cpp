// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates tables in blocks.
#include "dialects/weights/WeightTables.h"
#include <cmath>

namespace transom {

/// Angles are rounded as in fairseq: each step in f32.
template <typename Element>
static void evaluateFairseqSinusoid(const WeightExpr &e, const Block &block,
                                    Element *out) {
  int64_t half = (*e).dims[1] / 2;
  auto step =
      static_cast<float>(std::log(10000.0) / static_cast<double>(half - 1));
  for (int64_t r = 0; r < block.sizes[0]; ++r)
    for (int64_t i = 0; i < block.sizes[1]; ++i) {
      int64_t column = block.offsets[1] + i;
      float exponent = static_cast<float>(column % half) * -step;
      auto frequency =
          static_cast<float>(std::exp(static_cast<double>(exponent)));
      double angle = static_cast<float>(block.offsets[0] + r) * frequency;
      double value = column < half       ? std::sin(angle)
                     : column < 2 * half ? std::cos(angle)
                                         : 0;
      *out++ = static_cast<Element>(value);
    }
}

template <typename Element>
void evaluateSinusoid(const WeightExpr &e, const Block &block, Element *out) {
  if ((*e).order == SinusoidOrder::Fairseq)
    return evaluateFairseqSinusoid(e, block, out);
  bool halves = (*e).order == SinusoidOrder::Halves;
  int64_t width = (*e).dims[1], sines = (width + 1) / 2;
  int64_t columns = block.sizes[1];
  std::vector<double> rates(static_cast<size_t>(columns));
  std::vector<char> isSine(static_cast<size_t>(columns));
  for (int64_t i = 0; i < columns; ++i) {
    int64_t column = block.offsets[1] + i;
    isSine[i] = halves ? column < sines : column % 2 == 0;
    int64_t pair = !halves          ? column / 2
                   : column < sines ? column
                                    : column - sines;
    rates[i] = std::pow(10000.0, 2.0 * static_cast<double>(pair) /
                                     static_cast<double>(width));
  }
  for (int64_t r = 0; r < block.sizes[0]; ++r)
    for (int64_t i = 0; i < columns; ++i) {
      double angle = static_cast<double>(block.offsets[0] + r) / rates[i];
      *out++ =
          static_cast<Element>(isSine[i] ? std::sin(angle) : std::cos(angle));
    }
}

template <typename Element>
void evaluateAngles(const WeightExpr &e, const Shape &shape, const Block &block,
                    Element *out) {
  int64_t coarse = shape[0] - weightExprAngleStep;
  int64_t pairs = shape[1] / 2;
  for (int64_t r = 0; r < block.sizes[0]; ++r) {
    int64_t index = block.offsets[0] + r;
    bool isCoarse = index < coarse;
    double position = static_cast<double>(isCoarse ? index * weightExprAngleStep
                                                   : index - coarse);
    double factor = isCoarse ? 1.0 : (*e).number;
    for (int64_t i = 0; i < block.sizes[1]; ++i) {
      int64_t column = block.offsets[1] + i;
      double angle = position * (*e).data[column % pairs];
      *out++ = static_cast<Element>(
          factor * (column < pairs ? std::cos(angle) : std::sin(angle)));
    }
  }
}

template <typename Element>
void evaluateValues(const WeightExpr &e, const Block &block, Element *out) {
  const Shape &shape = (*e).dims;
  int64_t count = block.count();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      at += (block.offsets[d] + rest % block.sizes[d]) * stride;
      rest /= block.sizes[d];
      stride *= shape[d];
    }
    out[i] = static_cast<Element>((*e).data[at]);
  }
}

template <typename Element>
void evaluateTriangle(const WeightExpr &e, const Block &block, Element *out) {
  const size_t last = block.sizes.size() - 1;
  const int64_t rows = block.sizes[last - 1], columns = block.sizes[last];
  const int64_t count = block.count();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = block.offsets[last - 1] + i / columns % rows;
    const int64_t column = block.offsets[last] + i % columns;
    const bool isUpTo = column - row <= (*e).start;
    out[i] = static_cast<Element>((*e).data[isUpTo ? 0 : 1]);
  }
}

template void evaluateSinusoid(const WeightExpr &, const Block &, float *);
template void evaluateAngles(const WeightExpr &, const Shape &, const Block &,
                             float *);
template void evaluateValues(const WeightExpr &, const Block &, float *);
template void evaluateTriangle(const WeightExpr &, const Block &, float *);
template void evaluateSinusoid(const WeightExpr &, const Block &, double *);
template void evaluateAngles(const WeightExpr &, const Shape &, const Block &,
                             double *);
template void evaluateValues(const WeightExpr &, const Block &, double *);
template void evaluateTriangle(const WeightExpr &, const Block &, double *);

} // namespace transom
