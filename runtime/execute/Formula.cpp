// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Terms are consecutive, their factors are in one array. In a term's bound each
// batch factor is paired with a length, since their product has a tighter limit
// than the product of the two maxima.
#include "runtime/execute/Formula.h"
#include <algorithm>

using namespace transom;

Result<Formula> Formula::compile(const Polynomial &polynomial,
                                 const std::vector<std::string> &order) {
  Formula formula;
  for (const auto &[monomial, coefficient] : polynomial.terms()) {
    Term term{coefficient, uint32_t(formula.factors.size()), 0};
    for (const std::string &symbol : monomial) {
      auto found = std::find(order.begin(), order.end(), symbol);
      if (found == order.end())
        return rejected("'" + polynomial.str() + "' has the unknown symbol '" +
                        symbol + "'");
      formula.factors.push_back(uint32_t(found - order.begin()));
    }
    term.end = uint32_t(formula.factors.size());
    formula.terms.push_back(term);
  }
  return formula;
}

bool Formula::evaluate(const int64_t *symbols, int64_t &value) const {
  int64_t sum = 0;
  for (const Term &term : terms) {
    int64_t product = term.coefficient;
    for (uint32_t i = term.begin; i != term.end; ++i)
      if (__builtin_mul_overflow(product, symbols[factors[i]], &product))
        return false;
    if (__builtin_add_overflow(sum, product, &sum))
      return false;
  }
  value = sum;
  return true;
}

bool Formula::boundTerm(const Term &term, const SymbolBounds &bounds,
                        int64_t &value) const {
  // Multiply the maxima of all other symbols, and collect batches and lengths.
  std::vector<int64_t> batches, lengths;
  int64_t product = term.coefficient;
  for (uint32_t i = term.begin; i != term.end; ++i) {
    int64_t maximum = bounds.maxima[factors[i]];
    if (bounds.kinds[factors[i]] == SymbolKind::Batch)
      batches.push_back(maximum);
    else if (bounds.kinds[factors[i]] == SymbolKind::Length)
      lengths.push_back(maximum);
    else if (__builtin_mul_overflow(product, maximum, &product))
      return false;
  }
  // Pair each batch with a length, the longest first.
  std::sort(lengths.rbegin(), lengths.rend());
  size_t pairs = std::min(batches.size(), lengths.size());
  for (size_t i = 0; i != std::max(batches.size(), lengths.size()); ++i) {
    int64_t factor = i < batches.size() ? batches[i] : lengths[i];
    if (i < pairs) {
      if (__builtin_mul_overflow(factor, lengths[i], &factor))
        factor = INT64_MAX;
      factor = std::min(factor, bounds.batchTimesLength);
    }
    if (__builtin_mul_overflow(product, factor, &product))
      return false;
  }
  value = product;
  return true;
}

bool Formula::bound(const SymbolBounds &bounds, int64_t &value) const {
  int64_t sum = 0;
  for (const Term &term : terms) {
    int64_t product;
    if (term.coefficient < 0)
      continue;
    if (!boundTerm(term, bounds, product) ||
        __builtin_add_overflow(sum, product, &sum))
      return false;
  }
  value = sum;
  return true;
}

int Formula::onlySymbol() const {
  if (terms.size() != 1 || terms[0].coefficient != 1 || factors.size() != 1)
    return -1;
  return int(factors[0]);
}

bool Formula::uses(SymbolKind kind,
                   const std::vector<SymbolKind> &kinds) const {
  return std::any_of(factors.begin(), factors.end(),
                     [&](uint32_t symbol) { return kinds[symbol] == kind; });
}
