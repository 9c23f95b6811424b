// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs on residues, which dominate the time for a check: operands are read
// into arrays once, two threads share the columns, and results for unchanged
// rows and weights are cached.
#include "compiler/evaluator/residues/ResidueField.h"
#include "compiler/evaluator/residues/Residues.h"
#include "runtime/base/Threads.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

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
      // Leaves are read in order, once for many rows; hashing them again is
      // faster than a lookup.
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

/// Dot product modulo p or q. The sum over 31 products fits without reduction.
template <typename Mod>
static uint64_t sumProductsModulo(const uint64_t *a, const uint64_t *b,
                                  int64_t count) {
  constexpr int64_t most = 31;
  typename Mod::Wide sum = 0;
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t end = std::min(count, begin + most);
    for (int64_t i = begin; i < end; ++i)
      sum += static_cast<typename Mod::Wide>(a[i]) * b[i];
    sum = Mod::reduce(sum);
  }
  return static_cast<uint64_t>(sum);
}

Residue Residues::sumProducts(const Terms &a, const Terms &b) const {
  Residue sum;
  const auto count = static_cast<int64_t>(a.p[0].size());
  for (int lane = 0; lane < numLanes; ++lane) {
    sum.p[lane] =
        sumProductsModulo<ModP>(a.p[lane].data(), b.p[lane].data(), count);
    sum.q[lane] =
        sumProductsModulo<ModQ>(a.q[lane].data(), b.q[lane].data(), count);
  }
  return sum;
}

static std::pair<uint64_t, uint64_t> hashWords(ArrayRef<uint64_t> words) {
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      {reinterpret_cast<const uint8_t *>(words.data()), words.size() * 8});
  return {hash.low64, hash.high64};
}

Residues::WordsHash Residues::hashTerms(const Terms &terms) const {
  std::vector<uint64_t> hashes;
  for (int lane = 0; lane < numLanes; ++lane)
    for (ArrayRef<uint64_t> words : {terms.p[lane], terms.q[lane]}) {
      const WordsHash hash = hashWords(words);
      hashes.insert(hashes.end(), {hash.first, hash.second});
    }
  return hashWords(hashes);
}

std::optional<Residues::WordsHash>
Residues::hashLeaves(ArrayRef<Number> numbers) {
  std::vector<uint64_t> words;
  words.reserve(numbers.size());
  for (Number number : numbers) {
    if (!number.isReference() || !isLeaf(number.getReference()))
      return std::nullopt;
    words.push_back(number.getReference());
  }
  return hashWords(words);
}

/// Calls work(begin, end) for ranges in `count` items, on two threads if there
/// is enough work and the system provides a second one.
template <typename Work>
static void shareWork(int64_t count, bool isMuch, Work work) {
  const int64_t half = isMuch ? count / 2 : 0;
  std::optional<std::thread> other;
  if (half > 0)
    other = startThread([&] { work(0, half); });
  work(other ? half : 0, count);
  if (other)
    other->join();
}

void Residues::keepSum(WordsHash hash, const Residue &sum) {
  constexpr unsigned most = 3 << 20; // 200 MB in a map with 2^22 slots
  if (keptSums.size() + 1 == most)
    keptSums.clear();
  keptSums[hash] = sum;
}

/// Reads the residues in each row once. Operands without residues, and sums
/// that may have no terms, use `dot`.
void Residues::dotRows(ArrayRef<Number> inits, ArrayRef<Number> a,
                       const Number *b, int64_t m, int64_t n, Number *out) {
  const int64_t k = m ? static_cast<int64_t>(a.size()) / m : 0;
  std::vector<Terms> rows(m);
  std::vector<WordsHash> rowHashes(m);
  for (int64_t i = 0; i < m; ++i) {
    readTerms(&a[i * k], k, rows[i]);
    if (rows[i].isFast)
      rowHashes[i] = hashTerms(rows[i]);
  }
  std::vector<Residue> starts(n);
  for (int64_t j = 0; !inits.empty() && j < n; ++j)
    starts[j] = get(inits[j]);

  // Threads write only to `sums` and `newHashes`.
  std::vector<std::optional<Residue>> sums(m * n);
  std::vector<WordsHash> newHashes(m * n); // for sums to cache
  constexpr int64_t much = int64_t(1) << 17;
  shareWork(n, m * n * k >= much, [&](int64_t begin, int64_t end) {
    Terms column;
    for (int64_t j = begin; j < end; ++j) {
      if (!inits.empty() && isHidden(inits[j]))
        continue;
      const auto columnHash = hashLeaves({b + j * k, static_cast<size_t>(k)});
      bool isRead = false;
      for (int64_t i = 0; i < m; ++i) {
        const Terms &row = rows[i];
        if (!row.isFast || !row.hasNumber)
          continue;
        std::optional<Residue> &sum = sums[i * n + j];
        if (columnHash) {
          const WordsHash hash =
              hashWords({rowHashes[i].first, rowHashes[i].second,
                         columnHash->first, columnHash->second});
          if (auto kept = keptSums.find(hash); kept != keptSums.end()) {
            sum = kept->second;
            continue;
          }
          newHashes[i * n + j] = hash;
        }
        if (!std::exchange(isRead, true))
          readTerms(b + j * k, k, column);
        if (column.isFast && column.hasNumber &&
            !(row.hasZero && column.hasZero))
          sum = sumProducts(row, column);
      }
    }
  });
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const std::optional<Residue> &sum = sums[i * n + j];
      out[i * n + j] = sum ? put(addResidues(numLanes, starts[j], *sum))
                           : dot(inits.empty() ? Number() : inits[j], &a[i * k],
                                 1, b + j * k, 1, k);
      if (sum && newHashes[i * n + j] != WordsHash())
        keepSum(newHashes[i * n + j], *sum);
    }
}

} // namespace transom
