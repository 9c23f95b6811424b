// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits domain: evaluating a planned kern module gives the same bits as the
// compiled artifact. Each f32 operation rounds; sums use the order that
// passes/lower/README.md defines.
#pragma once
#include "compiler/evaluator/Number.h"
#include "compiler/evaluator/bits/BitsMath.h"
#include "runtime/base/InstructionSet.h"

namespace transom {

/// Numbers are f32; operations flush denormals to zero. Integers stay float64.
/// Models for operations with ordered sums call `Bits` with complete rows.
/// Instruction sets that multiply bf16 pairs give different bits; their domain
/// runs only on a CPU with the instruction.
class Bits final : public Domain {
public:
  /// The domain for code with this instruction set.
  explicit Bits(const InstructionSet &isa)
      : dotBf16(isa.dotBf16), amxBf16(isa.amx) {}

  /// The current domain if it is `Bits`, otherwise null.
  static const Bits *getCurrent() {
    Domain *domain = Domain::getCurrent();
    return domain ? domain->asBits() : nullptr;
  }
  /// True if this CPU has the instructions.
  bool runsHere() const { return bits::runsHere(getChain(StorageType::BF16)); }
  /// The summation order for GEMMs with this operand type.
  bits::Chain getChain(StorageType operands) const;
  /// The summation order for bf16 GEMMs that suit AMX.
  bits::Chain getTileChain() const;

  /// Norm parameters; beta may be null.
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
  /// Quantizes a head to integers, for a cache with this type; returns the
  /// scale.
  Number quantize(llvm::MutableArrayRef<Number> head, StorageType type) const;
  /// Quantizes a group to integers, as `kern.quantize` does; returns the scale
  /// and the sum.
  std::pair<Number, Number>
  quantizeGroup(llvm::MutableArrayRef<Number> group) const;

  /// Rows with integers, and their scales and offsets, if present.
  struct QuantizedRows {
    llvm::ArrayRef<Number> numbers;  ///< [count, k]
    llvm::ArrayRef<Number> scales;   ///< [count, groups]
    llvm::ArrayRef<Number> minimums; ///< [count, groups]
  };
  /// The GEMM [m, n] as generated code computes it for integers in groups with
  /// size `group` along k. `inits` is [n]; empty: zeros.
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

/// The f32 that an operation reads; a denormal is zero in a domain scope.
inline float toFloat(Number x) { return static_cast<float>(x.real()); }
inline Number fromFloat(float x) { return static_cast<double>(x); }
/// Converts a row to f32.
std::vector<float> toFloats(llvm::ArrayRef<Number> row);

} // namespace transom
