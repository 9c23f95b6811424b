// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A manifest polynomial compiled to flat arrays: evaluated many times per call
// without allocation, with overflow checks on every operation, and bounded from
// above for a session's capacity.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/base/Polynomial.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// The meaning of a symbol; decides how products are bounded.
enum class SymbolKind : uint8_t {
  Unbound, ///< has no value in this entry
  Batch,   ///< sequences
  Length,  ///< positions per sequence, or any other dimension
  Tokens,  ///< tokens in a ragged batch
  Keys,    ///< positions in a ragged batch's key panels
  Workers, ///< workers per dispatch
  Written, ///< has a value once a phase has written it
};

/// Max values for an entry's symbols, and for a batch times a length.
struct SymbolBounds {
  std::vector<SymbolKind> kinds;
  std::vector<int64_t> maxima;
  int64_t batchTimesLength = INT64_MAX;
};

/// A polynomial over an entry's symbols, by index.
class Formula {
public:
  Formula() = default;
  /// Compiles `polynomial`; `order` names the symbols by index. A symbol that
  /// is not in `order` is an error.
  static Result<Formula> compile(const Polynomial &polynomial,
                                 const std::vector<std::string> &order);

  /// Evaluates for these symbols; false on overflow.
  bool evaluate(const int64_t *symbols, int64_t &value) const;
  /// An upper bound (terms with a negative coefficient count as zero); false on
  /// overflow.
  bool bound(const SymbolBounds &bounds, int64_t &value) const;
  /// The symbol's index if this formula is a single symbol, else -1.
  int onlySymbol() const;
  /// True if a term contains a symbol of this kind.
  bool uses(SymbolKind kind, const std::vector<SymbolKind> &kinds) const;

private:
  struct Term {
    int64_t coefficient;
    uint32_t begin, end; // its factors
  };
  bool boundTerm(const Term &term, const SymbolBounds &bounds,
                 int64_t &value) const;
  std::vector<Term> terms;
  std::vector<uint32_t> factors; // symbol indices
};

} // namespace transom
