// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, softmax and norms by their definitions.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/bits/Bits.h"
#include "runtime/abi/RowSummary.h"
#include <algorithm>
#include <cmath>
#include <limits>

using llvm::ArrayRef;
using llvm::MutableArrayRef;

namespace transom {

/// An activation as a formula over domain operations.
static Number evaluateFormula(Activation kind, Number x) {
  const Number half = 0.5, one = 1.0;
  Domain &domain = *Domain::getCurrent();
  auto times = [](double factor, Number x) { return constant(factor) * x; };
  auto sigmoid = [&](Number x) { return domain.apply("sigmoid", x); };
  // Activations without a formula are functions in the domain.
  switch (kind) {
  case Activation::Gelu:
    return half * x * (one + domain.apply("erf", times(std::sqrt(0.5), x)));
  case Activation::GeluTanh:
    return half * x *
           (one +
            tanh(times(std::sqrt(2 / M_PI), x + times(0.044715, x * x * x))));
  case Activation::QuickGelu:
    return x * sigmoid(times(1.702, x));
  case Activation::Silu:
    return x * sigmoid(x);
  case Activation::Exp:
    return exp(x);
  case Activation::Neg:
    return -x;
  case Activation::Rsqrt:
    return one / sqrt(x);
  case Activation::Relu:
  case Activation::Tanh:
  case Activation::Sigmoid:
  case Activation::Sqrt:
  case Activation::Log1pRelu:
    return domain.apply(getActivationInfo(kind).name, x);
  }
  llvm_unreachable("all activations have a formula");
}

Number activate(Activation kind, Number x) {
  if (const Bits *bits = Bits::getCurrent())
    return bits->activate(kind, x);
  if (Domain::getCurrent())
    return evaluateFormula(kind, x);
  return getActivationInfo(kind).evaluate(x.real());
}

Number getLargest(ArrayRef<Number> numbers) {
  if (!Bits::getCurrent() && Domain::getCurrent())
    return getMaximum(numbers);
  float largest = -std::numeric_limits<float>::infinity();
  if (Bits::getCurrent()) {
    for (Number x : numbers)
      largest = bits::maximum(largest, toFloat(x));
    return fromFloat(largest);
  }
  for (Number x : numbers)
    if (std::isnan(x.real()))
      return x;
  return getMaximum(numbers);
}

void softmax(MutableArrayRef<Number> row) {
  if (const Bits *bits = Bits::getCurrent())
    return bits->softmax(row);
  for (Number &x : row)
    x = makeExponent(x);
  Number maximum = getMaximum(row);
  if (isHidden(maximum)) {
    std::fill(row.begin(), row.end(), 0.0);
    return;
  }
  Number sum = 0.0;
  for (Number &x : row)
    sum += x = exp(x - maximum);
  for (Number &x : row)
    x /= sum;
}

RowSummary summarizeRow(ArrayRef<Number> row) {
  if (const Bits *bits = Bits::getCurrent())
    return bits->summarize(row);
  RowSummary summary;
  for (; !row.empty();
       row = row.drop_front(std::min<size_t>(row.size(), summaryGroup))) {
    ArrayRef<Number> group = row.take_front(summaryGroup);
    Number maximum = getMaximum(group), sum = 0.0;
    for (Number x : group)
      sum += exp(makeExponent(x) - makeExponent(maximum));
    if (llvm::any_of(group, [](Number x) {
          return !x.isReference() && !std::isfinite(x.real());
        }))
      maximum = std::numeric_limits<double>::quiet_NaN();
    summary.maxima.push_back(maximum);
    summary.sums.push_back(sum);
  }
  return summary;
}

void layerNorm(MutableArrayRef<Number> row, ArrayRef<Number> gamma,
               const std::vector<Number> *beta, double eps) {
  if (const Bits *bits = Bits::getCurrent())
    return bits->normalize(row, {gamma, beta, eps, false});
  const Number count = static_cast<double>(row.size());
  Number mean = 0.0, variance = 0.0;
  for (Number x : row)
    mean += x / count;
  for (Number x : row)
    variance += (x - mean) * (x - mean) / count;
  const Number root = sqrt(variance + constant(eps));
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = normalized((row[i] - mean) / root) * gamma[i] +
             (beta ? (*beta)[i] : Number());
}

void rmsNorm(MutableArrayRef<Number> row, ArrayRef<Number> gamma, double eps) {
  if (const Bits *bits = Bits::getCurrent())
    return bits->normalize(row, {gamma, nullptr, eps, true});
  const Number count = static_cast<double>(row.size());
  Number square = 0.0;
  for (Number x : row)
    square += x * x / count;
  const Number root = sqrt(square + constant(eps));
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = normalized(row[i] / root) * gamma[i];
}

std::pair<Number, Number> quantizeGroup(MutableArrayRef<Number> group) {
  if (const Bits *bits = Bits::getCurrent())
    return bits->quantizeGroup(group);
  if (Domain::getCurrent())
    return {1.0, 0.0};
  double largest = 0, sum = 0;
  for (Number x : group)
    largest = std::max(largest, std::fabs(x.real()));
  for (Number &x : group) {
    x = largest == 0 ? 0 : std::nearbyint(x.real() * 127 / largest);
    sum += x.real();
  }
  return {largest / 127, sum};
}

} // namespace transom

transom::Number transom::slopeAt(const Tensor &slopes, int64_t head,
                                 int64_t distance) {
  bool bySide = slopes.sizes.size() == 2;
  return slopes.real[bySide ? 2 * head + (distance > 0) : head];
}

transom::Number transom::slopeBias(const Tensor &slopes, int64_t head,
                                   int64_t distance) {
  return slopeAt(slopes, head, distance) *
         Number(static_cast<double>(distance));
}
