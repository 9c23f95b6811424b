// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of matrices of residues, which take most of the time of a check:
// operands are read into arrays once, and two threads share the columns.
#include "compiler/evaluator/ResidueField.h"
#include "compiler/evaluator/Residues.h"
#include <thread>

using llvm::ArrayRef;

namespace transom {

void Residues::readTerms(const Number *numbers, int64_t count,
                         Terms &terms) const {
  for (int lane = 0; lane < numLanes; ++lane) {
    terms.p[lane].resize(count);
    terms.q[lane].resize(count);
  }
  terms.isFast = true;
  terms.hasZero = terms.hasNumber = false;
  for (int64_t i = 0; i < count; ++i) {
    Residue residue; // zero
    if (numbers[i].isReference()) {
      // Leaves are read in order, once for many rows: hashing them again takes
      // less time than looking for them.
      const uint64_t reference = numbers[i].getReference();
      residue = isLeaf(reference) ? hashLeaf(reference) : pool[reference];
      terms.hasNumber = true;
    } else {
      terms.hasZero = true;
    }
    if (!residue.hasExponent() ||
        (!numbers[i].isReference() && numbers[i].real() != 0)) {
      terms.isFast = false;
      return;
    }
    for (int lane = 0; lane < numLanes; ++lane) {
      terms.p[lane][i] = residue.p[lane];
      terms.q[lane][i] = residue.q[lane];
    }
  }
}

/// init + the sum of a[i] b[i] modulo p or q. Sums of 31 products fit.
template <typename Mod>
static uint64_t sumProductsModulo(uint64_t init, const uint64_t *a,
                                  const uint64_t *b, int64_t count) {
  constexpr int64_t most = 31;
  typename Mod::Wide sum = init;
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t end = std::min(count, begin + most);
    for (int64_t i = begin; i < end; ++i)
      sum += static_cast<typename Mod::Wide>(a[i]) * b[i];
    sum = Mod::reduce(sum);
  }
  return static_cast<uint64_t>(sum);
}

Residue Residues::sumProducts(const Residue &init, const Terms &a,
                              const Terms &b) const {
  Residue sum = init;
  const auto count = static_cast<int64_t>(a.p[0].size());
  for (int lane = 0; lane < numLanes; ++lane)
    sum.p[lane] = sumProductsModulo<ModP>(sum.p[lane], a.p[lane].data(),
                                          b.p[lane].data(), count);
  for (int lane = 0; sum.hasExponent() && lane < numLanes; ++lane)
    sum.q[lane] = sumProductsModulo<ModQ>(sum.q[lane], a.q[lane].data(),
                                          b.q[lane].data(), count);
  return sum;
}

/// Calls work(begin, end) for ranges of `count` things, on two threads where
/// there is much work.
template <typename Work>
static void shareWork(int64_t count, bool isMuch, Work work) {
  const int64_t half = isMuch ? count / 2 : 0;
  std::thread other;
  if (half > 0)
    other = std::thread([&] { work(0, half); });
  work(half, count);
  if (half > 0)
    other.join();
}

/// Residues of each row are read once. What is not a residue, and a sum that
/// may have no terms, is left to `dot`.
void Residues::dotRows(ArrayRef<Number> inits, ArrayRef<Number> a,
                       const Number *b, int64_t m, int64_t n, Number *out) {
  const int64_t k = m ? static_cast<int64_t>(a.size()) / m : 0;
  std::vector<Terms> rows(m);
  for (int64_t i = 0; i < m; ++i)
    readTerms(&a[i * k], k, rows[i]);
  std::vector<Residue> starts(n), sums(m * n);
  for (int64_t j = 0; !inits.empty() && j < n; ++j)
    starts[j] = get(inits[j]);

  // Nothing but `sums` is written here.
  std::vector<char> isSummed(m * n);
  constexpr int64_t much = int64_t(1) << 17;
  shareWork(n, m * n * k >= much, [&](int64_t begin, int64_t end) {
    Terms column;
    for (int64_t j = begin; j < end; ++j) {
      readTerms(b + j * k, k, column);
      if (!column.isFast || (!inits.empty() && isHidden(inits[j])))
        continue;
      for (int64_t i = 0; i < m; ++i) {
        const Terms &row = rows[i];
        isSummed[i * n + j] = row.isFast && row.hasNumber && column.hasNumber &&
                              !(row.hasZero && column.hasZero);
        if (isSummed[i * n + j])
          sums[i * n + j] = sumProducts(starts[j], row, column);
      }
    }
  });
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      out[i * n + j] = isSummed[i * n + j]
                           ? put(sums[i * n + j])
                           : dot(inits.empty() ? Number() : inits[j], &a[i * k],
                                 1, b + j * k, 1, k);
}

} // namespace transom
