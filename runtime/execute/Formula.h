// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A polynomial of the manifest compiled to flat arrays: evaluated many times a
// call without allocation, with a check of every product and sum, and bounded
// from above for the capacity of a session.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/base/Polynomial.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// What a symbol counts; decides how products of symbols are bounded.
enum class SymbolKind : uint8_t {
  Unbound, ///< has no value in this entry
  Batch,   ///< sequences
  Length,  ///< positions of a sequence, or any other dimension
  Tokens,  ///< tokens of a ragged batch
  Keys,    ///< positions in key panels of a ragged batch
  Workers, ///< workers of a dispatch
  Written, ///< has a value after a phase wrote it
};

/// The largest values of an entry's symbols, and of a batch times a length.
struct SymbolBounds {
  std::vector<SymbolKind> kinds;
  std::vector<int64_t> maxima;
  int64_t batchTimesLength = INT64_MAX;
};

/// A polynomial over the symbols of an entry, by their index.
class Formula {
public:
  Formula() = default;
  /// Compiles `polynomial`; `order` names the symbols by index. A symbol that
  /// is not among them is an error.
  static Result<Formula> compile(const Polynomial &polynomial,
                                 const std::vector<std::string> &order);

  /// Value for these symbols; false on overflow.
  bool evaluate(const int64_t *symbols, int64_t &value) const;
  /// A value that is not exceeded within the bounds (terms with a negative
  /// coefficient count as zero); false on overflow.
  bool bound(const SymbolBounds &bounds, int64_t &value) const;
  /// The index of the symbol that this formula just is, or -1.
  int onlySymbol() const;
  /// True when a term holds a symbol of this kind.
  bool uses(SymbolKind kind, const std::vector<SymbolKind> &kinds) const;

private:
  struct Term {
    int64_t coefficient;
    uint32_t begin, end; // its factors
  };
  bool boundTerm(const Term &term, const SymbolBounds &bounds,
                 int64_t &value) const;
  std::vector<Term> terms;
  std::vector<uint32_t> factors; // indices of symbols
};

} // namespace transom
