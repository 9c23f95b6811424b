// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers in an evaluation. They are float64 unless the evaluation has its own
// domain, which defines numbers and each operation on them. Operation models
// are written once, over `Number`.
#pragma once
#include "runtime/base/FloatMode.h"
#include "runtime/base/OperandFormat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Compiler.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transom {

class Bits;
class WeightExpr;
class TensorSource;
struct Tensor;

/// A float64, or a reference to an object in the current domain. It has the
/// size of a float64, so an evaluation in float64 pays nothing for domains. A
/// reference is a quiet NaN that no float64 operation produces: its upper 14
/// bits are `tag`.
class Number {
public:
  Number() = default;
  LLVM_ATTRIBUTE_ALWAYS_INLINE Number(double value) : value(value) {}

  /// The reference `index < 2^numReferenceBits`.
  static constexpr int numReferenceBits = 50;
  static Number refer(uint64_t index) {
    Number number;
    uint64_t bits = tag << numReferenceBits | index;
    std::memcpy(&number.value, &bits, sizeof bits);
    return number;
  }
  bool isReference() const { return getBits() >> numReferenceBits == tag; }
  uint64_t getReference() const {
    return getBits() & ((uint64_t(1) << numReferenceBits) - 1);
  }
  uint64_t getBits() const {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  /// The float64 value; the number must not be a reference.
  LLVM_ATTRIBUTE_ALWAYS_INLINE double real() const { return value; }
  /// The integer that integer operations read.
  explicit operator int64_t() const;

  Number operator-() const { return Number(0.0) - *this; }
  Number &operator+=(Number other) { return *this = *this + other; }
  Number &operator*=(Number other) { return *this = *this * other; }
  Number &operator/=(Number other) { return *this = *this / other; }
  friend Number operator+(Number a, Number b);
  friend Number operator-(Number a, Number b);
  friend Number operator*(Number a, Number b);
  friend Number operator/(Number a, Number b);

private:
  static constexpr uint64_t tag = 0x1fff;
  double value = 0;
};
static_assert(sizeof(Number) == sizeof(double));

/// The maximum of each group in a row, and the sum of exponentials in each.
struct RowSummary {
  std::vector<Number> maxima, sums;
};

/// Defines numbers and operations other than float64. Integers (ids, masks,
/// positions, sizes) are float64 in every domain.
class Domain {
public:
  virtual ~Domain() = default;
  /// The current domain on this thread; null: float64.
  LLVM_ATTRIBUTE_ALWAYS_INLINE static Domain *getCurrent() { return current; }

  virtual Number add(Number a, Number b) = 0;
  virtual Number subtract(Number a, Number b) = 0;
  virtual Number multiply(Number a, Number b) = 0;
  virtual Number divide(Number a, Number b) = 0;
  /// init + sum of a[i * strideA] b[i * strideB].
  virtual Number dot(Number init, const Number *a, int64_t strideA,
                     const Number *b, int64_t strideB, int64_t count) = 0;
  /// out[i, j] = inits[j] + dot(a[i], b[j]) for the rows in a [m, k] and b [n,
  /// k]; empty `inits` are zeros.
  virtual void dotRows(llvm::ArrayRef<Number> inits, llvm::ArrayRef<Number> a,
                       const Number *b, int64_t m, int64_t n, Number *out) = 0;
  /// The same for bf16 operands. `inTiles`: AMX code multiplies tiles; see
  /// `kern::suitsAmx`.
  virtual void dotRowsBf16(bool inTiles, llvm::ArrayRef<Number> inits,
                           llvm::ArrayRef<Number> a, const Number *b, int64_t m,
                           int64_t n, Number *out) {
    dotRows(inits, a, b, m, n, out);
  }
  /// a b + c, rounded once.
  virtual Number fma(Number a, Number b, Number c) {
    return add(multiply(a, b), c);
  }
  virtual Number exp(Number x) = 0;
  /// A unary function by name, such as tanh.
  virtual Number apply(const char *function, Number x) = 0;
  /// cos(position frequency) and sin(position frequency).
  virtual std::pair<Number, Number> getAngle(double frequency,
                                             int64_t position) = 0;
  /// Rounds to a storage type.
  virtual Number round(StorageType type, Number x) = 0;
  /// A number that an exponent may depend on; see Residues.h.
  virtual Number makeExponent(Number x) = 0;
  virtual void makeExponents(llvm::MutableArrayRef<Number> row) {
    for (Number &x : row)
      x = makeExponent(x);
  }
  virtual Number normalized(Number x) = 0;
  /// Negative, zero or positive if a is less than, equal to or greater than b.
  virtual int compare(Number a, Number b) = 0;
  /// The number that softmax subtracts from the scores in a row.
  virtual Number getMaximum(llvm::ArrayRef<Number> row) = 0;
  /// True for a score that hides its key.
  virtual bool isHidden(Number x) = 0;
  virtual int64_t toInteger(Number x) = 0;
  /// A constant in the module.
  virtual Number constant(double value) = 0;
  /// The elements in a weight.
  virtual Result<std::shared_ptr<const Tensor>>
  weight(const WeightExpr &expr, const TensorSource &source) = 0;
  /// False where `round` changes nothing.
  virtual bool rounds() const { return true; }
  /// True if operations treat f32 denormals as zero, and return none.
  virtual bool flushesDenormals() const { return false; }
  /// This as the bits domain, in which sums have an order; otherwise null.
  virtual const Bits *asBits() const { return nullptr; }

private:
  friend class DomainScope;
  static inline thread_local Domain *current = nullptr;
};

/// Makes a domain current during its lifetime.
class DomainScope {
public:
  explicit DomainScope(Domain *domain) : before(Domain::current) {
    Domain::current = domain;
    if (domain && domain->flushesDenormals())
      mode.emplace();
  }
  DomainScope(const DomainScope &) = delete;
  DomainScope &operator=(const DomainScope &) = delete;
  ~DomainScope() { Domain::current = before; }

private:
  Domain *before;
  std::optional<FloatMode> mode;
};

//===----------------------------------------------------------------------===//
// Operations, in the current domain
//===----------------------------------------------------------------------===//

LLVM_ATTRIBUTE_ALWAYS_INLINE Number operator+(Number a, Number b) {
  if (Domain *domain = Domain::getCurrent())
    return domain->add(a, b);
  return a.value + b.value;
}

LLVM_ATTRIBUTE_ALWAYS_INLINE Number operator-(Number a, Number b) {
  if (Domain *domain = Domain::getCurrent())
    return domain->subtract(a, b);
  return a.value - b.value;
}

LLVM_ATTRIBUTE_ALWAYS_INLINE Number operator*(Number a, Number b) {
  if (Domain *domain = Domain::getCurrent())
    return domain->multiply(a, b);
  return a.value * b.value;
}

LLVM_ATTRIBUTE_ALWAYS_INLINE Number operator/(Number a, Number b) {
  if (Domain *domain = Domain::getCurrent())
    return domain->divide(a, b);
  return a.value / b.value;
}

inline Number::operator int64_t() const {
  return isReference() ? Domain::getCurrent()->toInteger(*this)
                       : static_cast<int64_t>(value);
}

/// init + sum of a[i * strideA] b[i * strideB].
inline Number dot(Number init, const Number *a, int64_t strideA,
                  const Number *b, int64_t strideB, int64_t count) {
  if (Domain *domain = Domain::getCurrent())
    return domain->dot(init, a, strideA, b, strideB, count);
  double sum = init.real();
  const double *left = reinterpret_cast<const double *>(a);
  const double *right = reinterpret_cast<const double *>(b);
  for (int64_t i = 0; i < count; ++i)
    sum += left[i * strideA] * right[i * strideB];
  return sum;
}

/// `dotRows` for float64.
void dotRowsOfFloat64(llvm::ArrayRef<Number> inits, llvm::ArrayRef<Number> a,
                      const Number *b, int64_t m, int64_t n, Number *out);

/// out[i, j] = inits[j] + dot(a[i], b[j]) for the rows in a [m, k] and b [n,
/// k]; empty `inits` are zeros.
inline void dotRows(llvm::ArrayRef<Number> inits, llvm::ArrayRef<Number> a,
                    const Number *b, int64_t m, int64_t n, Number *out) {
  if (Domain *domain = Domain::getCurrent())
    return domain->dotRows(inits, a, b, m, n, out);
  dotRowsOfFloat64(inits, a, b, m, n, out);
}

/// The same for bf16 operands; `inTiles` if AMX code multiplies tiles.
inline void dotRowsBf16(bool inTiles, llvm::ArrayRef<Number> inits,
                        llvm::ArrayRef<Number> a, const Number *b, int64_t m,
                        int64_t n, Number *out) {
  if (Domain *domain = Domain::getCurrent())
    return domain->dotRowsBf16(inTiles, inits, a, b, m, n, out);
  dotRowsOfFloat64(inits, a, b, m, n, out);
}

inline Number dot(Number init, llvm::ArrayRef<Number> a, const Number *b) {
  return dot(init, a.data(), 1, b, 1, static_cast<int64_t>(a.size()));
}

/// a b + c, which domains may round once.
inline Number fma(Number a, Number b, Number c) {
  if (Domain *domain = Domain::getCurrent())
    return domain->fma(a, b, c);
  return a.real() * b.real() + c.real();
}

/// -x, also for zero.
inline Number negate(Number x) { return Number(-1.0) * x; }

inline Number exp(Number x) {
  if (Domain *domain = Domain::getCurrent())
    return domain->exp(x);
  return std::exp(x.real());
}

/// A unary function. Domains identify it by its name, which includes all
/// parameters.
template <typename Function>
Number applyFunction(const std::string &name, Number x, Function function) {
  if (Domain *domain = Domain::getCurrent())
    return domain->apply(name.c_str(), x);
  return function(x.real());
}

inline Number tanh(Number x) {
  return applyFunction("tanh", x, [](double x) { return std::tanh(x); });
}

inline Number sqrt(Number x) {
  return applyFunction("sqrt", x, [](double x) { return std::sqrt(x); });
}

inline std::pair<Number, Number> getAngle(double frequency, int64_t position) {
  if (Domain *domain = Domain::getCurrent())
    return domain->getAngle(frequency, position);
  double angle = static_cast<double>(position) * frequency;
  return {std::cos(angle), std::sin(angle)};
}

inline Number roundToStorage(StorageType type, Number x) {
  if (Domain *domain = Domain::getCurrent())
    return domain->round(type, x);
  return roundToStorage(type, x.real());
}

/// A constant in the module as a number.
LLVM_ATTRIBUTE_ALWAYS_INLINE Number constant(double value) {
  if (Domain *domain = Domain::getCurrent())
    return domain->constant(value);
  return value;
}

/// Marks a GEMM input on which later exponents depend.
LLVM_ATTRIBUTE_ALWAYS_INLINE Number makeExponent(Number x) {
  if (Domain *domain = Domain::getCurrent())
    return domain->makeExponent(x);
  return x;
}

inline void makeExponents(llvm::MutableArrayRef<Number> row) {
  if (Domain *domain = Domain::getCurrent())
    domain->makeExponents(row);
}

/// Marks (x - mean) / root in a norm, before gamma.
LLVM_ATTRIBUTE_ALWAYS_INLINE Number normalized(Number x) {
  if (Domain *domain = Domain::getCurrent())
    return domain->normalized(x);
  return x;
}

inline bool isHidden(Number x) {
  if (Domain *domain = Domain::getCurrent())
    return domain->isHidden(x);
  return x.real() == -std::numeric_limits<double>::infinity();
}

/// The row maximum, which softmax subtracts; hidden if all scores are hidden.
inline Number getMaximum(llvm::ArrayRef<Number> row) {
  if (Domain *domain = Domain::getCurrent())
    return domain->getMaximum(row);
  double maximum = -std::numeric_limits<double>::infinity();
  for (Number x : row)
    maximum = std::max(maximum, x.real());
  return maximum;
}

/// The score for a key that a query cannot attend to.
inline Number getHidden() { return -std::numeric_limits<double>::infinity(); }

} // namespace transom
