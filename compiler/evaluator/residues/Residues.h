// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The domain of residues: an evaluation in a finite field, in which two modules
// that are the same function of weights and inputs give equal results, and
// others give other results but for a tiny chance over a secret key. Nothing is
// rounded, so there is no tolerance.
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

/// A number as residues modulo p, and modulo q = (p - 1) / 2 where an exponent
/// may depend on it: exp(x) is omega^(x mod q) modulo p, so exp(x + y) = exp(x)
/// exp(y). Each lane has keys of its own, and all lanes are hashed together.
struct Residue {
  static constexpr int maxLanes = 2;
  static constexpr uint64_t gone = ~uint64_t(0);
  std::array<uint64_t, maxLanes> p{}, q{};

  bool hasExponent() const { return q[0] != gone; }
  void dropExponent() { q[0] = gone; }
  bool operator==(const Residue &other) const { return p == other.p; }
  bool operator!=(const Residue &other) const { return p != other.p; }
};

/// Residues by index, in blocks of memory that stay in place. An element takes
/// 16 bytes for each lane.
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
  /// Drops all elements from index `size` on.
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

/// The residues of a function value, from its hash in each lane.
Residue fromHashes(const uint64_t *hashes, int numLanes);

/// Without an exponent where one has none.
Residue addResidues(int numLanes, const Residue &a, const Residue &b);

/// What rounding to bf16 or int8 is.
enum class Rounding {
  Erased, ///< nothing, so that adding roundings is no change
  Opaque  ///< a function that clears bits, so that all have to stay
};

/// Numbers are residues. Whole numbers stay float64; what is at most -1e30 or
/// minus infinity is hidden: absorbing in sums, with exp 0.
///
///   tanh, erf, sigmoid, sqrt, relu,
///   log1p_relu                       keyed hashes of x mod p
///   cos, sin of position * f         the power of a point with c^2 + s^2 = 1
///   order of x and y                 a bit of the hash of x - y
///   makeExponent, normalized         x mod q becomes a hash of x mod p: where
///   it
///                                    is gone, and always
///   weights                          hashes of the file tensor's name and the
///                                    element's index; no file is read
class Residues final : public Domain {
public:
  /// Keys are derived from the text.
  Residues(const std::string &keyText, int numLanes, Rounding rounding);

  /// The residues of a number, and a number with residues.
  Residue get(Number number);
  Number put(const Residue &residue);
  /// An element of a tensor that is any number: its name and its index say
  /// which.
  Number getLeaf(const std::string &name, int64_t index);
  /// All elements of such a tensor.
  void getLeaves(const std::string &name, llvm::MutableArrayRef<Number> out);

  /// Drops the weights and sums of products that are kept for later
  /// evaluations.
  void forget();
  /// Numbers made from now on are dropped by `release`.
  size_t mark() const { return pool.size(); }
  void release(size_t mark);

  /// From now on a constant that is the rounded product, quotient or inverse of
  /// constants seen before, or one of them rounded to f32, is that.
  void deriveConstants() { derives = true; }
  /// The constants that were taken for something else than their exact value,
  /// as `0.35355339059327379 = sqrt(1/8)`.
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
  /// Operands of a sum of products, as arrays of each residue.
  struct Terms {
    std::array<std::vector<uint64_t>, Residue::maxLanes> p, q;
    bool isFast = false; ///< all are zero or have both residues
    bool hasZero = false, hasNumber = false;
  };
  void readTerms(const Number *numbers, int64_t count, Terms &terms) const;
  Residue sumProducts(const Terms &a, const Terms &b) const;
  /// 128 bits: equal hashes of different words are not to be expected.
  using WordsHash = std::pair<uint64_t, uint64_t>;
  WordsHash hashTerms(const Terms &terms) const;
  /// None where one is not a leaf.
  static std::optional<WordsHash> hashLeaves(llvm::ArrayRef<Number> numbers);
  void keepSum(WordsHash hash, const Residue &sum);

  /// The secret keys of a name, by lane.
  using Keys = std::array<uint64_t, Residue::maxLanes>;

  Keys deriveKeys(const std::string &text) const;
  Residue getConstant(double value);
  std::optional<std::pair<Residue, std::string>>
  deriveConstant(double value) const;
  Residue hash(const char *function, const Residue &x) const;
  Residue getPlain(double number);
  static bool isLeaf(uint64_t reference);
  Residue hashLeaf(uint64_t reference) const;
  const Residue &getLeafAt(uint64_t reference);
  Number getLeaf(uint64_t tensor, int64_t index);
  uint64_t getTensor(const std::string &name);
  /// The tensor whose leaves are those of `tensor` with other bits cleared.
  uint64_t getRoundedTensor(uint64_t tensor, uint64_t mask);

  std::string keyText;
  int numLanes;
  Rounding rounding;
  Keys keys;
  ResiduePool pool;
  /// Leaves that were looked at, by their element and tensor.
  struct KeptLeaf {
    uint64_t reference = ~uint64_t(0);
    Residue residue;
  };
  std::vector<KeptLeaf> leaves;
  /// A tensor of leaves, and the bits of its residues that rounding keeps.
  struct LeafTensor {
    Keys keys;
    uint64_t mask;
  };
  std::vector<LeafTensor> leafTensors;
  /// Indices in `leafTensors`, by name and by unrounded tensor and mask.
  std::map<std::string, uint64_t> tensors;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> roundedTensors;
  /// The last tensor that was rounded: weights are rounded in order.
  struct {
    uint64_t tensor = ~uint64_t(0), mask = 0, rounded = 0;
  } lastRounded;
  /// Weights all of whose elements are leaves, by their expressions.
  std::map<std::string, std::shared_ptr<const Tensor>> keptWeights;
  size_t numKeptNumbers = 0;
  /// Sums of products of a row with leaves, by the hash of both: most passes
  /// leave most products as they are.
  llvm::DenseMap<WordsHash, Residue> keptSums;
  std::map<double, Residue> constants; ///< seen so far
  std::vector<std::string> equalConstants;
  bool derives = false;
  /// The last divisor and its inverse: rows are divided by one number.
  Number lastDivisor;
  Residue lastInverse;
  /// By frequency cosine and sine of the angle of position 1.
  std::map<double, std::pair<Residue, Residue>> points;
};

} // namespace transom
