// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 operations on numbers. Moves keep denormals, arithmetic flushes them.
// Compiled without contraction.
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/evaluator/Tensor.h"
#include "dialects/weights/WeightExpr.h"
#include "runtime/base/FloatMode.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cfloat>
#include <numeric>
#include <string_view>

using llvm::ArrayRef;
using llvm::MutableArrayRef;

namespace transom {

std::vector<float> toFloats(ArrayRef<Number> row) {
  std::vector<float> floats(row.size());
  llvm::transform(row, floats.begin(), toFloat);
  return floats;
}

static void fromFloats(const std::vector<float> &floats,
                       MutableArrayRef<Number> row) {
  llvm::transform(floats, row.begin(), fromFloat);
}

bits::Chain Bits::getChain(StorageType operands) const {
  if (operands != StorageType::BF16)
    return bits::Chain::F32;
  return dotBf16 ? bits::Chain::Dot : bits::Chain::Bf16;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Number Bits::add(Number a, Number b) {
  return fromFloat(toFloat(a) + toFloat(b));
}

Number Bits::subtract(Number a, Number b) {
  return fromFloat(toFloat(a) - toFloat(b));
}

Number Bits::multiply(Number a, Number b) {
  return fromFloat(toFloat(a) * toFloat(b));
}

Number Bits::divide(Number a, Number b) {
  return fromFloat(toFloat(a) / toFloat(b));
}

Number Bits::fma(Number a, Number b, Number c) {
  return fromFloat(std::fma(toFloat(a), toFloat(b), toFloat(c)));
}

Number Bits::dot(Number init, const Number *a, int64_t strideA, const Number *b,
                 int64_t strideB, int64_t count) {
  std::vector<float> left(count), right(count);
  for (int64_t i = 0; i < count; ++i) {
    left[i] = toFloat(a[i * strideA]);
    right[i] = toFloat(b[i * strideB]);
  }
  return fromFloat(bits::dot(toFloat(init), left.data(), right.data(), count));
}

static void multiplyRows(bits::Chain chain, ArrayRef<Number> inits,
                         ArrayRef<Number> a, const Number *b, int64_t m,
                         int64_t n, Number *out) {
  const int64_t k = m ? static_cast<int64_t>(a.size()) / m : 0;
  const std::vector<float> left = toFloats(a), starts = toFloats(inits),
                           right = toFloats({b, static_cast<size_t>(n * k)});
  std::vector<float> sums(m * n);
  for (int64_t i = 0; i < m && !starts.empty(); ++i)
    llvm::copy(starts, sums.begin() + i * n);
  bits::multiply(chain, left.data(), m, right.data(), n, k, sums.data());
  llvm::transform(sums, out, fromFloat);
}

void Bits::dotRows(ArrayRef<Number> inits, ArrayRef<Number> a, const Number *b,
                   int64_t m, int64_t n, Number *out) {
  multiplyRows(bits::Chain::F32, inits, a, b, m, n, out);
}

bits::Chain Bits::getTileChain() const {
  return amxBf16 ? bits::Chain::Amx : getChain(StorageType::BF16);
}

void Bits::dotRowsBf16(bool inTiles, ArrayRef<Number> inits, ArrayRef<Number> a,
                       const Number *b, int64_t m, int64_t n, Number *out) {
  multiplyRows(inTiles ? getTileChain() : getChain(StorageType::BF16), inits, a,
               b, m, n, out);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Number Bits::exp(Number x) { return fromFloat(bits::exp(toFloat(x))); }

Number Bits::activate(Activation kind, Number x) const {
  return fromFloat(bits::activate(kind, toFloat(x)));
}

Number Bits::apply(const char *function, Number x) {
  if (std::string_view(function) == "erf")
    return fromFloat(bits::erf(toFloat(x)));
  for (const ActivationInfo &info : getActivations())
    if (std::string_view(function) == info.name)
      return activate(info.kind, x);
  return std::numeric_limits<double>::quiet_NaN();
}

std::pair<Number, Number> Bits::getAngle(double frequency, int64_t position) {
  const double angle = static_cast<double>(position) * frequency;
  return {constant(std::cos(angle)), constant(std::sin(angle))};
}

/// The nearest f32; keeps denormals in any floating-point mode.
static double roundToFloat(double x) {
  constexpr double steps = 0x1p149; // denormal steps per unit
  return std::fabs(x) < FLT_MIN ? std::rint(x * steps) / steps
                                : static_cast<double>(static_cast<float>(x));
}

/// The nearest bf16 for an f32 denormal; bf16 steps are 2^16 times larger.
static double roundDenormalToBf16(double x) {
  constexpr double steps = 0x1p133;
  return std::rint(x * steps) / steps;
}

Number Bits::round(StorageType type, Number x) {
  const double value = roundToFloat(x.real());
  if (type == StorageType::F32)
    return value;
  if (std::fabs(value) < FLT_MIN) // the instruction flushes denormals
    return dotBf16 ? std::copysign(0.0, value) : roundDenormalToBf16(value);
  return roundToStorage(type, value);
}

int Bits::compare(Number a, Number b) {
  const float x = toFloat(a), y = toFloat(b);
  return x < y ? -1 : x > y;
}

Number Bits::getMaximum(ArrayRef<Number> row) {
  std::vector<float> floats = toFloats(row);
  return fromFloat(
      bits::getMaximum(floats.data(), static_cast<int64_t>(row.size())));
}

bool Bits::isHidden(Number x) {
  return x.real() == -std::numeric_limits<double>::infinity();
}

int64_t Bits::toInteger(Number x) { return static_cast<int64_t>(x.real()); }

Number Bits::constant(double value) { return roundToFloat(value); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void Bits::softmax(MutableArrayRef<Number> row) const {
  std::vector<float> floats = toFloats(row);
  bits::softmax(floats.data(), static_cast<int64_t>(row.size()));
  fromFloats(floats, row);
}

void Bits::normalize(MutableArrayRef<Number> row, const Norm &norm) const {
  std::vector<float> floats = toFloats(row), gamma = toFloats(norm.gamma), beta;
  if (norm.beta)
    beta = toFloats(*norm.beta);
  bits::normalize(floats.data(), static_cast<int64_t>(row.size()),
                  {gamma.data(), norm.beta ? beta.data() : nullptr,
                   static_cast<float>(norm.eps), norm.rms});
  fromFloats(floats, row);
}

RowSummary Bits::summarize(ArrayRef<Number> row) const {
  std::vector<float> floats = toFloats(row);
  bits::RowSummary found =
      bits::summarize(floats.data(), static_cast<int64_t>(row.size()));
  RowSummary summary;
  llvm::append_range(summary.maxima, llvm::map_range(found.maxima, fromFloat));
  llvm::append_range(summary.sums, llvm::map_range(found.sums, fromFloat));
  return summary;
}

Number Bits::quantize(MutableArrayRef<Number> head, StorageType type) const {
  std::vector<float> floats = toFloats(head);
  const float scale =
      bits::quantize(floats.data(), static_cast<int64_t>(head.size()),
                     static_cast<float>(getMaxMagnitude(type)));
  fromFloats(floats, head);
  return fromFloat(scale);
}

std::pair<Number, Number>
Bits::quantizeGroup(MutableArrayRef<Number> group) const {
  std::vector<float> floats = toFloats(group);
  auto [scale, sum] =
      bits::quantizeGroup(floats.data(), static_cast<int64_t>(group.size()));
  fromFloats(floats, group);
  return {fromFloat(scale), fromFloat(sum)};
}

/// Columns `first` to `first + size` in rows with `k` elements.
static std::vector<float> getColumns(const std::vector<float> &rows, int64_t k,
                                     int64_t first, int64_t size) {
  std::vector<float> columns;
  for (size_t row = 0; row < rows.size(); row += k)
    columns.insert(columns.end(), rows.begin() + row + first,
                   rows.begin() + row + first + size);
  return columns;
}

/// Integer sums within a group are exact in f32.
std::vector<Number> Bits::multiplyGroups(ArrayRef<Number> inits,
                                         const QuantizedRows &a,
                                         const QuantizedRows &b, int64_t k,
                                         int64_t group) {
  const std::vector<float> left = toFloats(a.numbers),
                           right = toFloats(b.numbers),
                           starts = toFloats(inits);
  // Sums start from `inits`.
  const auto m = static_cast<int64_t>(left.size()) / k,
             n = static_cast<int64_t>(right.size()) / k;
  std::vector<float> all(m * n), sums(m * n);
  for (int64_t i = 0; i < m && !starts.empty(); ++i)
    llvm::copy(starts, all.begin() + i * n);
  // Each group adds an exact integer sum, times the scales for row and column.
  const int64_t numGroups = (k + group - 1) / group;
  for (int64_t g = 0; g < numGroups; ++g) {
    const int64_t first = g * group, size = std::min(group, k - first);
    const std::vector<float> ofA = getColumns(left, k, first, size),
                             ofB = getColumns(right, k, first, size);
    std::fill(sums.begin(), sums.end(), 0.0f);
    bits::multiply(bits::Chain::F32, ofA.data(), m, ofB.data(), n, size,
                   sums.data());
    for (int64_t i = 0; i < m * n; ++i) {
      const float ofRow = toFloat(a.scales[i / n * numGroups + g]);
      const int64_t column = i % n * numGroups + g;
      all[i] = std::fma(sums[i], ofRow * toFloat(b.scales[column]), all[i]);
      // A weight with offsets also adds the row sum times the offset.
      if (!b.minimums.empty()) {
        const float *row = &ofA[i / n * size];
        const float rowSum = std::accumulate(row, row + size, 0.0f); // exact
        all[i] = std::fma(ofRow * rowSum, toFloat(b.minimums[column]), all[i]);
      }
    }
  }
  std::vector<Number> products(m * n);
  fromFloats(all, products);
  return products;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Result<std::shared_ptr<const Tensor>> Bits::weight(const WeightExpr &expr,
                                                   const TensorSource &source) {
  TRANSOM_ASSIGN(std::vector<int64_t> shape, expr.shape(source));
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  std::vector<float> values(count);
  std::vector<int64_t> offsets(shape.size(), 0);
  // Packing keeps denormals.
  FloatMode mode(Denormals::AreKept);
  TRANSOM_TRY(expr.evaluate(source, offsets, shape, values.data()));
  std::vector<Number> numbers(count);
  fromFloats(values, numbers);
  return std::make_shared<const Tensor>(Tensor::of(shape, std::move(numbers)));
}

} // namespace transom
