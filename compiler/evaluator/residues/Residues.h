// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The domain of residues: evaluation in a finite field. Two modules that are
// the same function over weights and inputs give equal results; others give
// different results, except for a tiny probability over a secret key. Nothing
// is rounded, so there is no tolerance.
#pragma once
#include "compiler/evaluator/Number.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// A number as residues modulo p, and modulo q = (p - 1) / 2 if an exponent may
/// depend on it: exp(x) is omega^(x mod q) modulo p, so exp(x + y) = exp(x)
/// exp(y). Each lane has its own keys, and all lanes are hashed together.
struct Residue {
  static constexpr int maxLanes = 2;
  static constexpr uint64_t gone = ~uint64_t(0);
  std::array<uint64_t, maxLanes> p{}, q{};

  bool hasExponent() const { return q[0] != gone; }
  void dropExponent() { q[0] = gone; }
  bool operator==(const Residue &other) const { return p == other.p; }
  bool operator!=(const Residue &other) const { return p != other.p; }
};

/// Residues by index, in memory blocks that do not move. An element takes 16
/// bytes per lane.
class ResiduePool {
public:
  explicit ResiduePool(int numLanes) : numLanes(numLanes) {}

  size_t size() const { return count; }
  void append(const Residue &residue) {
    if (count == blocks.size() * blockSize)
      blocks.push_back(std::make_unique<uint64_t[]>(2 * numLanes * blockSize));
    uint64_t *words = locate(count++);
    for (int i = 0; i < numLanes; ++i) {
      words[2 * i] = residue.p[i];
      words[2 * i + 1] = residue.q[i];
    }
  }
  Residue operator[](size_t index) const {
    Residue residue;
    const uint64_t *words = locate(index);
    for (int i = 0; i < numLanes; ++i) {
      residue.p[i] = words[2 * i];
      residue.q[i] = words[2 * i + 1];
    }
    return residue;
  }
  /// Drops all elements from index `size`.
  void truncate(size_t size) {
    count = size;
    blocks.resize((size + blockSize - 1) / blockSize);
  }

private:
  static constexpr size_t blockSize = size_t(1) << 16;
  uint64_t *locate(size_t index) const {
    return &blocks[index / blockSize][2 * numLanes * (index % blockSize)];
  }

  int numLanes;
  size_t count = 0;
  std::vector<std::unique_ptr<uint64_t[]>> blocks;
};

/// The residues for a function value, from its hash in each lane.
Residue fromHashes(const uint64_t *hashes, int numLanes);

/// The sum has no exponent if an operand has none.
Residue addResidues(int numLanes, const Residue &a, const Residue &b);

/// The meaning of a rounding to bf16 or int8.
enum class Rounding {
  Erased, ///< the identity, so adding roundings changes nothing
  Opaque  ///< a function that clears bits, so each rounding must stay
};

/// Numbers are residues. Integers stay float64; scores of at most -1e30 or
/// minus infinity are hidden: absorbing in sums, with exp 0.
///
///   tanh, erf, sigmoid, sqrt, relu,
///   log1p_relu                  keyed hashes for x mod p
///   cos, sin at position * f    powers of a point with c^2 + s^2 = 1
///   order between x and y       a bit in the hash for x - y
///   makeExponent                hashes x mod p if x mod q is missing
///   normalized                  always hashes x mod p to x mod q
///   weights                     hashes for the file tensor's name and the
///                               element's index; no file is read
class Residues final : public Domain {
public:
  /// Derives the keys from `keyText`.
  Residues(const std::string &keyText, int numLanes, Rounding rounding);

  /// A number's residues, and a new number with these residues.
  Residue get(Number number);
  Number put(const Residue &residue);
  /// An element with an arbitrary value, identified by its tensor name and
  /// index.
  Number getLeaf(const std::string &name, int64_t index);
  /// All elements in such a tensor.
  void getLeaves(const std::string &name, llvm::MutableArrayRef<Number> out);

  /// Drops cached weights and GEMM sums.
  void forget();
  /// `release` drops numbers that were created after `mark`.
  size_t mark() const { return pool.size(); }
  void release(size_t mark);

  /// From now on, a constant is derived if it is the rounded product, quotient
  /// or inverse of earlier constants, or one of them rounded to f32.
  void deriveConstants() { derives = true; }
  /// Constants that were not interpreted as their exact value, as
  /// `0.35355339059327379 = sqrt(1/8)`.
  const std::vector<std::string> &getEqualConstants() const {
    return equalConstants;
  }
  int getNumLanes() const { return numLanes; }
  Rounding getRounding() const { return rounding; }

  Number add(Number a, Number b) override;
  Number subtract(Number a, Number b) override;
  Number multiply(Number a, Number b) override;
  Number divide(Number a, Number b) override;
  Number dot(Number init, const Number *a, int64_t strideA, const Number *b,
             int64_t strideB, int64_t count) override;
  void dotRows(llvm::ArrayRef<Number> inits, llvm::ArrayRef<Number> a,
               const Number *b, int64_t m, int64_t n, Number *out) override;
  Number exp(Number x) override;
  Number apply(const char *function, Number x) override;
  std::pair<Number, Number> getAngle(double frequency,
                                     int64_t position) override;
  Number round(StorageType type, Number x) override;
  Number makeExponent(Number x) override;
  Number normalized(Number x) override;
  int compare(Number a, Number b) override;
  Number getMaximum(llvm::ArrayRef<Number> row) override;
  bool isHidden(Number x) override;
  int64_t toInteger(Number x) override;
  Number constant(double value) override;
  Result<std::shared_ptr<const Tensor>>
  weight(const WeightExpr &expr, const TensorSource &source) override;
  bool rounds() const override { return rounding == Rounding::Opaque; }

private:
  /// Operands in a sum of products, with one array per residue.
  struct Terms {
    std::array<std::vector<uint64_t>, Residue::maxLanes> p, q;
    bool isFast = false; ///< each is zero or has both residues
    bool hasZero = false, hasNumber = false;
  };
  void readTerms(const Number *numbers, int64_t count, Terms &terms) const;
  Residue sumProducts(const Terms &a, const Terms &b) const;
  /// 128 bits, so collisions are negligible.
  using WordsHash = std::pair<uint64_t, uint64_t>;
  WordsHash hashTerms(const Terms &terms) const;
  /// nullopt if a number is not a leaf.
  static std::optional<WordsHash> hashLeaves(llvm::ArrayRef<Number> numbers);
  void keepSum(WordsHash hash, const Residue &sum);

  /// Secret keys for a name, by lane.
  using Keys = std::array<uint64_t, Residue::maxLanes>;

  Keys deriveKeys(const std::string &text) const;
  Residue getConstant(double value);
  std::optional<std::pair<Residue, std::string>>
  deriveConstant(double value) const;
  Residue hash(const char *function, const Residue &x) const;
  Residue getPlain(double number);
  static bool isLeaf(uint64_t reference);
  Residue hashLeaf(uint64_t reference) const;
  Residue hashLeaf(uint64_t tensor, uint64_t element) const;
  const Residue &getLeafAt(uint64_t reference);
  Number getLeaf(uint64_t tensor, int64_t index);
  uint64_t getTensor(const std::string &name);
  /// The tensor with the same leaves as `tensor`, but other bits cleared.
  uint64_t getRoundedTensor(uint64_t tensor, uint64_t mask);

  std::string keyText;
  int numLanes;
  Rounding rounding;
  Keys keys;
  ResiduePool pool;
  /// Recently read leaves, by element and tensor.
  struct KeptLeaf {
    uint64_t reference = ~uint64_t(0);
    Residue residue;
  };
  std::vector<KeptLeaf> leaves;
  /// A tensor with leaves, and the residue bits that rounding keeps.
  struct LeafTensor {
    Keys keys;
    uint64_t mask;
  };
  std::vector<LeafTensor> leafTensors;
  /// Indices in `leafTensors`, by name, and by unrounded tensor and mask.
  std::map<std::string, uint64_t> tensors;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> roundedTensors;
  /// The last rounded tensor: weights are rounded in order.
  struct {
    uint64_t tensor = ~uint64_t(0), mask = 0, rounded = 0;
  } lastRounded;
  /// Weights with only leaves, by expression.
  std::map<std::string, std::shared_ptr<const Tensor>> keptWeights;
  size_t numKeptNumbers = 0;
  /// GEMM sums for a row and leaves, by the hash of both: most passes leave
  /// most GEMMs unchanged.
  llvm::DenseMap<WordsHash, Residue> keptSums;
  std::map<double, Residue> constants; ///< encountered so far
  std::vector<std::string> equalConstants;
  bool derives = false;
  /// The last divisor and its inverse: a row has a single divisor.
  Number lastDivisor;
  Residue lastInverse;
  /// Cosine and sine at position 1, by frequency.
  std::map<double, std::pair<Residue, Residue>> points;
};

} // namespace transom
