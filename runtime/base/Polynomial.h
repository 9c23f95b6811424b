// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that depend on a call: polynomials with integer coefficients in named
// symbols such as 'batch' and 'seq', kept in one canonical form, so that equal
// sizes have equal text. They are the dimensions of tensors in the IR, the
// offsets of the memory plan and the manifest's memory formulas.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// A polynomial with integer coefficients in named symbols, in canonical form.
class Polynomial {
public:
  /// A product of symbols in alphabetical order, repeated for powers; empty for
  /// the constant term.
  using Monomial = std::vector<std::string>;

  Polynomial() = default;
  Polynomial(int64_t constant);
  /// The polynomial that is just one symbol.
  static Polynomial symbol(std::string name);
  /// Reads the canonical text, also with spaces: `2*batch*seq+31*batch+64`.
  static Result<Polynomial> parse(std::string_view text);

  /// Canonical text: monomials by falling degree, then alphabetically; the
  /// coefficient first, omitted when 1; `0` for the zero polynomial.
  std::string str() const;

  bool isConstant() const;
  /// The value if it does not depend on a symbol.
  std::optional<int64_t> constant() const;
  /// Value for given symbols; fails on overflow or an unknown symbol.
  Result<int64_t>
  evaluate(const std::function<std::optional<int64_t>(const std::string &)>
               &getValue) const;
  /// Replaces each symbol by the result of `replacement`; nullopt keeps the
  /// symbol.
  Polynomial
  substitute(const std::function<std::optional<Polynomial>(const std::string &)>
                 &replacement) const;
  /// The quotient when `divisor` divides this exactly, else nothing.
  std::optional<Polynomial> divideExactly(const Polynomial &divisor) const;
  /// True when each coefficient is at least the other's: then the value is at
  /// least the other's for all non-negative symbols.
  bool coversCoefficients(const Polynomial &other) const;
  /// All symbols, sorted.
  std::vector<std::string> symbols() const;
  const std::map<Monomial, int64_t> &terms() const { return coefficients; }

  friend Polynomial operator+(const Polynomial &a, const Polynomial &b);
  friend Polynomial operator-(const Polynomial &a, const Polynomial &b);
  friend Polynomial operator*(const Polynomial &a, const Polynomial &b);
  friend bool operator==(const Polynomial &a, const Polynomial &b) {
    return a.coefficients == b.coefficients;
  }
  friend bool operator!=(const Polynomial &a, const Polynomial &b) {
    return !(a == b);
  }
  friend bool operator<(const Polynomial &a, const Polynomial &b) {
    return a.coefficients < b.coefficients;
  }

private:
  std::map<Monomial, int64_t> coefficients; // never holds a zero
};

} // namespace transom
