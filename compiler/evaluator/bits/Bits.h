// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The domain of bits: an evaluation of a planned module of kern gives the bits
// of the compiled artifact. Each operation is one of f32 and rounds; sums run
// in the order that passes/lower/README.md defines.
#pragma once
#include "compiler/evaluator/Number.h"
#include "compiler/evaluator/bits/BitsMath.h"
#include "runtime/base/InstructionSet.h"

namespace transom {

/// Numbers are f32, denormals are zero in operations. Whole numbers stay
/// float64. Models of operations whose sums have an order ask for `Bits` and
/// leave whole rows to it. Instruction sets that multiply pairs of bf16 give
/// other bits than the others; their domain runs where the CPU has the
/// instruction.
class Bits final : public Domain {
public:
  /// Of the code of an instruction set.
  explicit Bits(const InstructionSet &isa)
      : dotBf16(isa.dotBf16), amxBf16(isa.amx) {}

  /// The current domain, if it is one of bits.
  static const Bits *getCurrent() {
    Domain *domain = Domain::getCurrent();
    return domain ? domain->asBits() : nullptr;
  }
  /// True where this CPU has the instructions.
  bool runsHere() const { return bits::runsHere(getChain(StorageType::BF16)); }
  /// How products with operands of a type add.
  bits::Chain getChain(StorageType operands) const;
  /// How products of bf16 that suit AMX add.
  bits::Chain getTileChain() const;

  /// What a norm does with a row; beta may be null.
  struct Norm {
    llvm::ArrayRef<Number> gamma;
    const std::vector<Number> *beta;
    double eps;
    bool rms;
  };

  // Rows.
  Number activate(Activation kind, Number x) const;
  void softmax(llvm::MutableArrayRef<Number> row) const;
  void normalize(llvm::MutableArrayRef<Number> row, const Norm &norm) const;
  RowSummary summarize(llvm::ArrayRef<Number> row) const;
  /// Makes the numbers of a head whole, as a cache of this type holds them;
  /// gives their scale.
  Number quantize(llvm::MutableArrayRef<Number> head, StorageType type) const;
  /// Makes the numbers of a group of a row whole, as `kern.quantize` does;
  /// gives their scale and their sum.
  std::pair<Number, Number>
  quantizeGroup(llvm::MutableArrayRef<Number> group) const;

  /// Rows of whole numbers, and their scales and minimums, if there are such.
  struct QuantizedRows {
    llvm::ArrayRef<Number> numbers;  ///< [count, k]
    llvm::ArrayRef<Number> scales;   ///< [count, groups]
    llvm::ArrayRef<Number> minimums; ///< [count, groups]
  };
  /// The products of rows, [m, n], as code multiplies whole numbers in groups
  /// of `group` along k. `inits` is [n], or empty for zeros.
  static std::vector<Number> multiplyGroups(llvm::ArrayRef<Number> inits,
                                            const QuantizedRows &a,
                                            const QuantizedRows &b, int64_t k,
                                            int64_t group);

  // The domain.
  bool flushesDenormals() const override { return true; }
  const Bits *asBits() const override { return this; }
  Number add(Number a, Number b) override;
  Number subtract(Number a, Number b) override;
  Number multiply(Number a, Number b) override;
  Number divide(Number a, Number b) override;
  Number fma(Number a, Number b, Number c) override;
  Number dot(Number init, const Number *a, int64_t strideA, const Number *b,
             int64_t strideB, int64_t count) override;
  void dotRows(llvm::ArrayRef<Number> inits, llvm::ArrayRef<Number> a,
               const Number *b, int64_t m, int64_t n, Number *out) override;
  void dotRowsBf16(bool inTiles, llvm::ArrayRef<Number> inits,
                   llvm::ArrayRef<Number> a, const Number *b, int64_t m,
                   int64_t n, Number *out) override;
  Number exp(Number x) override;
  Number apply(const char *function, Number x) override;
  std::pair<Number, Number> getAngle(double frequency,
                                     int64_t position) override;
  Number round(StorageType type, Number x) override;
  Number makeExponent(Number x) override { return x; }
  void makeExponents(llvm::MutableArrayRef<Number>) override {}
  Number normalized(Number x) override { return x; }
  int compare(Number a, Number b) override;
  Number getMaximum(llvm::ArrayRef<Number> row) override;
  bool isHidden(Number x) override;
  int64_t toInteger(Number x) override;
  Number constant(double value) override;
  Result<std::shared_ptr<const Tensor>>
  weight(const WeightExpr &expr, const TensorSource &source) override;

private:
  bool dotBf16, amxBf16; ///< as in `InstructionSet`
};

/// The f32 that an operation takes a number for; in a scope of the domain a
/// denormal is zero.
inline float toFloat(Number x) { return static_cast<float>(x.real()); }
inline Number fromFloat(float x) { return static_cast<double>(x); }
/// Rows of f32.
std::vector<float> toFloats(llvm::ArrayRef<Number> row);

} // namespace transom
