// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on residues.
#include "compiler/evaluator/Residues.h"
#include "compiler/evaluator/ResidueField.h"
#include "runtime/base/Sha256.h"
#include "llvm/ADT/STLExtras.h"

using llvm::ArrayRef;

namespace transom {

/// What is at most this hides a key, whatever is added to it.
static constexpr double hiding = -1e30;
/// Whole numbers below it are exact in float64.
static constexpr double wholeLimit = 9007199254740992.0;

static bool isWhole(double x) {
  return std::fabs(x) < wholeLimit && x == std::trunc(x);
}

/// The number has no residues yet; it is whole, or hidden.
static bool staysFloat64(double x) { return isWhole(x) || x <= hiding; }

/// Combines the lanes of residues, modulo p and q.
template <typename OpP, typename OpQ>
static Residue combine(int numLanes, const Residue &a, const Residue &b,
                       OpP opP, OpQ opQ) {
  Residue result;
  for (int i = 0; i < numLanes; ++i)
    result.p[i] = opP(a.p[i], b.p[i]);
  if (!a.hasExponent() || !b.hasExponent()) {
    result.dropExponent();
    return result;
  }
  for (int i = 0; i < numLanes; ++i)
    result.q[i] = opQ(a.q[i], b.q[i]);
  return result;
}

static Residue multiplyResidues(int numLanes, const Residue &a,
                                const Residue &b) {
  return combine(numLanes, a, b, ModP::multiply, ModQ::multiply);
}

static Residue subtractResidues(int numLanes, const Residue &a,
                                const Residue &b) {
  return combine(numLanes, a, b, ModP::subtract, ModQ::subtract);
}

Residue addResidues(int numLanes, const Residue &a, const Residue &b) {
  return combine(numLanes, a, b, ModP::add, ModQ::add);
}

static Residue invert(int numLanes, const Residue &x) {
  return combine(
      numLanes, x, x, [](uint64_t p, uint64_t) { return ModP::invert(p); },
      [](uint64_t q, uint64_t) { return ModQ::invert(q); });
}

static Residue fromInteger(int numLanes, int64_t value) {
  Residue result;
  for (int i = 0; i < numLanes; ++i) {
    result.p[i] = ModP::fromInteger(value);
    result.q[i] = ModQ::fromInteger(value);
  }
  return result;
}

/// FNV-1a.
static uint64_t hashName(const char *name) {
  uint64_t hash = 1469598103934665603u;
  for (; *name; ++name)
    hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211u;
  return hash;
}

/// Residues from the hash of each lane.
static Residue fromHashes(const uint64_t *hashes, int numLanes) {
  Residue result;
  for (int i = 0; i < numLanes; ++i) {
    result.p[i] = ModP::fromHash(hashes[i]);
    result.q[i] = ModQ::fromHash(mixBits(hashes[i]));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Keys, leaves and the pool
//===----------------------------------------------------------------------===//

Residues::Residues(const std::string &keyText, int numLanes, Rounding rounding)
    : keyText(keyText), numLanes(numLanes), rounding(rounding),
      keys(deriveKeys("functions")), pool(numLanes) {}

Residues::Keys Residues::deriveKeys(const std::string &text) const {
  Sha256 sha;
  sha.update(keyText);
  sha.update(std::string_view("\0", 1));
  sha.update(text);
  std::array<uint8_t, 32> digest = sha.digest();
  Keys derived;
  std::memcpy(derived.data(), digest.data(), sizeof derived);
  return derived;
}

Number Residues::put(const Residue &residue) {
  pool.append(residue);
  return Number::refer(pool.size() - 1);
}

void Residues::release(size_t mark) {
  pool.truncate(mark);
  lastDivisor = Number();
  lastInverse = Residue();
}

// A reference is the place in the pool; or, for a leaf, a bit, 16 bits for the
// tensor and 33 for the element.
static constexpr uint64_t leafBit = uint64_t(1) << 49;
static constexpr int elementBits = 33, tensorBits = 16;

static uint64_t getLeafElement(uint64_t reference) {
  return reference & ((uint64_t(1) << elementBits) - 1);
}

static uint64_t getLeafTensor(uint64_t reference) {
  return (reference & ~leafBit) >> elementBits;
}

uint64_t Residues::getTensor(const std::string &name) {
  auto [entry, isNew] = tensors.try_emplace(name, leafTensors.size());
  if (isNew)
    leafTensors.push_back({deriveKeys("tensor " + name), ~uint64_t(0)});
  return entry->second;
}

uint64_t Residues::getRoundedTensor(uint64_t tensor, uint64_t mask) {
  if (lastRounded.tensor == tensor && lastRounded.mask == mask)
    return lastRounded.rounded;
  auto [entry, isNew] =
      roundedTensors.try_emplace({tensor, mask}, leafTensors.size());
  if (isNew)
    leafTensors.push_back(
        {leafTensors[tensor].keys, leafTensors[tensor].mask & mask});
  lastRounded = {tensor, mask, entry->second};
  return entry->second;
}

/// Clears the bits of a residue that are not in the mask.
static Residue clearBits(Residue residue, uint64_t mask, int numLanes) {
  for (int i = 0; i < numLanes; ++i) {
    residue.p[i] &= mask;
    if (residue.hasExponent())
      residue.q[i] &= mask;
  }
  return residue;
}

static Residue makeLeaf(const std::array<uint64_t, Residue::maxLanes> &keys,
                        uint64_t element, int numLanes) {
  uint64_t hashes[Residue::maxLanes];
  for (int i = 0; i < numLanes; ++i)
    hashes[i] = mixBits(mixBits(element) ^ keys[i]);
  return fromHashes(hashes, numLanes);
}

/// Elements of leaves that are kept.
static constexpr size_t numKeptLeaves = size_t(1) << 18;

bool Residues::isLeaf(uint64_t reference) { return reference & leafBit; }

Residue Residues::hashLeaf(uint64_t reference) const {
  const LeafTensor &tensor = leafTensors[getLeafTensor(reference)];
  return clearBits(makeLeaf(tensor.keys, getLeafElement(reference), numLanes),
                   tensor.mask, numLanes);
}

const Residue &Residues::getLeafAt(uint64_t reference) {
  if (leaves.empty())
    leaves.resize(numKeptLeaves);
  const uint64_t element = getLeafElement(reference);
  const uint64_t tensor = getLeafTensor(reference);
  // Neighbours stay neighbours.
  KeptLeaf &leaf = leaves[(element + mixBits(tensor)) % numKeptLeaves];
  if (leaf.reference != reference)
    leaf = {reference, hashLeaf(reference)};
  return leaf.residue;
}

Number Residues::getLeaf(uint64_t tensor, int64_t index) {
  if (tensor >> tensorBits || index >> elementBits)
    return put(clearBits(makeLeaf(leafTensors[tensor].keys, index, numLanes),
                         leafTensors[tensor].mask, numLanes));
  return Number::refer(leafBit | tensor << elementBits |
                       static_cast<uint64_t>(index));
}

Number Residues::getLeaf(const std::string &name, int64_t index) {
  return getLeaf(getTensor(name), index);
}

void Residues::getLeaves(const std::string &name,
                         llvm::MutableArrayRef<Number> out) {
  const uint64_t tensor = getTensor(name);
  for (auto [i, number] : llvm::enumerate(out))
    number = getLeaf(tensor, static_cast<int64_t>(i));
}

Residue Residues::getPlain(double number) {
  if (number <= hiding)
    return getConstant(-std::numeric_limits<double>::infinity());
  if (isWhole(number))
    return fromInteger(numLanes, static_cast<int64_t>(number));
  return getConstant(number);
}

Residue Residues::get(Number number) {
  if (!number.isReference())
    return getPlain(number.real());
  const uint64_t reference = number.getReference();
  return reference & leafBit ? getLeafAt(reference) : pool[reference];
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

bool Residues::isHidden(Number x) {
  return !x.isReference() && x.real() <= hiding;
}

/// True when both are float64 and so is their result.
static bool isFloat64(Number a, Number b, double result) {
  return !a.isReference() && !b.isReference() && staysFloat64(result);
}

static bool isZero(Number x) { return !x.isReference() && x.real() == 0; }

Number Residues::add(Number a, Number b) {
  if (isZero(a) || isZero(b))
    return isZero(a) ? b : a;
  if (isHidden(a) || isHidden(b))
    return getHidden();
  if (double sum = a.real() + b.real(); isFloat64(a, b, sum))
    return sum;
  return put(addResidues(numLanes, get(a), get(b)));
}

Number Residues::subtract(Number a, Number b) {
  if (isHidden(a) || isZero(b))
    return a;
  if (isHidden(b))
    return -b.real();
  if (double difference = a.real() - b.real(); isFloat64(a, b, difference))
    return difference;
  return put(subtractResidues(numLanes, get(a), get(b)));
}

Number Residues::multiply(Number a, Number b) {
  if (isZero(a) || isZero(b))
    return Number();
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)})
    if (isHidden(one) && other.isReference())
      return get(other) == Residue() ? Number() : getHidden();
  if (double product = a.real() * b.real(); isFloat64(a, b, product))
    return product;
  return put(multiplyResidues(numLanes, get(a), get(b)));
}

Number Residues::divide(Number a, Number b) {
  if (isHidden(a) || isZero(a))
    return a;
  if (double quotient = a.real() / b.real(); isFloat64(a, b, quotient))
    return quotient;
  if (b.getBits() != lastDivisor.getBits()) {
    lastInverse = invert(numLanes, get(b));
    lastDivisor = b;
  }
  return put(multiplyResidues(numLanes, get(a), lastInverse));
}

namespace {

/// A sum of products, reduced now and then.
class SumOfProducts {
public:
  SumOfProducts(const Residue &init, int numLanes)
      : numLanes(numLanes), hasExponent(init.hasExponent()) {
    for (int i = 0; i < numLanes; ++i) {
      p[i] = init.p[i];
      q[i] = hasExponent ? init.q[i] : 0;
    }
  }

  void add(const Residue &x, const Residue &y) {
    hasExponent = hasExponent && x.hasExponent() && y.hasExponent();
    for (int i = 0; i < numLanes; ++i)
      p[i] += static_cast<ModP::Wide>(x.p[i]) * y.p[i];
    for (int i = 0; hasExponent && i < numLanes; ++i)
      q[i] += static_cast<ModQ::Wide>(x.q[i]) * y.q[i];
    if (++terms == 32)
      reduce();
  }

  Residue get() {
    reduce();
    Residue sum;
    for (int i = 0; i < numLanes; ++i) {
      sum.p[i] = static_cast<uint64_t>(p[i]);
      sum.q[i] = static_cast<uint64_t>(q[i]);
    }
    if (!hasExponent)
      sum.dropExponent();
    return sum;
  }

private:
  void reduce() {
    for (int i = 0; i < numLanes; ++i) {
      p[i] = ModP::reduce(p[i]);
      q[i] = hasExponent ? ModQ::reduce(q[i]) : 0;
    }
    terms = 1;
  }

  int numLanes;
  bool hasExponent;
  int terms = 1;
  ModP::Wide p[Residue::maxLanes];
  ModQ::Wide q[Residue::maxLanes];
};

} // namespace

Number Residues::dot(Number init, const Number *a, int64_t strideA,
                     const Number *b, int64_t strideB, int64_t count) {
  bool isKnown = !init.isReference(), isEmpty = true;
  double known = init.real();
  SumOfProducts sum(get(init), numLanes);
  for (int64_t i = 0; i < count; ++i) {
    const Number x = a[i * strideA], y = b[i * strideB];
    if (isZero(x) || isZero(y)) // most are probabilities of hidden keys
      continue;
    if (isHidden(x) || isHidden(y))
      return getHidden();
    isEmpty = false;
    if (!x.isReference() && !y.isReference())
      known += x.real() * y.real();
    else
      isKnown = false;
    sum.add(get(x), get(y));
  }
  if (isEmpty || isHidden(init))
    return init;
  if (isKnown && staysFloat64(known))
    return known;
  return put(sum.get());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Residue Residues::hash(const char *function, const Residue &x) const {
  uint64_t hashes[Residue::maxLanes], name = hashName(function);
  // Each lane hashes the residues of all.
  for (int i = 0; i < numLanes; ++i) {
    hashes[i] = name;
    for (int lane = 0; lane < numLanes; ++lane)
      hashes[i] = mixBits(hashes[i] ^ keys[i]) ^ x.p[lane];
    hashes[i] = mixBits(mixBits(hashes[i]) ^ keys[i]);
  }
  return fromHashes(hashes, numLanes);
}

/// omega^x modulo p, by the bytes of x.
static uint64_t getPowerOfOmega(uint64_t x) {
  static const auto table = [] {
    std::array<std::array<uint64_t, 256>, 8> powers;
    uint64_t base = omega;
    for (auto &row : powers) {
      uint64_t power = 1;
      for (uint64_t &entry : row) {
        entry = power;
        power = ModP::multiply(power, base);
      }
      base = power;
    }
    return powers;
  }();
  uint64_t result = table[0][x & 255];
  for (int i = 1; i < 8; ++i)
    result = ModP::multiply(result, table[i][x >> (8 * i) & 255]);
  return result;
}

Number Residues::exp(Number x) {
  if (isHidden(x))
    return 0.0;
  Residue exponent = get(makeExponent(x)), result;
  for (int i = 0; i < numLanes; ++i)
    result.p[i] = getPowerOfOmega(exponent.q[i]);
  result.dropExponent();
  return put(result);
}

Number Residues::apply(const char *function, Number x) {
  return put(hash(function, get(x)));
}

/// The residues of cos and sin of an angle are a point of the circle c^2 + s^2
/// = 1; the sum of two angles is their product as complex numbers.
std::pair<Number, Number> Residues::getAngle(double frequency,
                                             int64_t position) {
  auto add = [&](const Residue &a, const Residue &b) {
    return addResidues(numLanes, a, b);
  };
  auto subtract = [&](const Residue &a, const Residue &b) {
    return subtractResidues(numLanes, a, b);
  };
  auto multiply = [&](const Residue &a, const Residue &b) {
    return multiplyResidues(numLanes, a, b);
  };
  using Point = std::pair<Residue, Residue>;
  auto rotate = [&](const Point &a, const Point &b) -> Point {
    return {subtract(multiply(a.first, b.first), multiply(a.second, b.second)),
            add(multiply(a.first, b.second), multiply(a.second, b.first))};
  };
  const Residue one = fromInteger(numLanes, 1);
  auto [known, isNew] = points.try_emplace(frequency);
  if (isNew) {
    Residue t;
    t.p.fill(ModP::reduce(Number(frequency).getBits()));
    t = hash("frequency", t);
    Residue square = multiply(t, t), scale = invert(numLanes, add(one, square));
    known->second = {multiply(subtract(one, square), scale),
                     multiply(add(t, t), scale)};
  }
  Point power = known->second, point = {one, Residue()};
  for (int64_t rest = position; rest > 0; rest >>= 1) {
    if (rest & 1)
      point = rotate(point, power);
    power = rotate(power, power);
  }
  Number cosine = put(point.first);
  return {cosine, put(point.second)};
}

Number Residues::round(StorageType type, Number x) {
  if (rounding == Rounding::Erased || !x.isReference() ||
      type == StorageType::F32)
    return x;
  // Storage types keep different bits.
  const uint64_t kept = ~uint64_t(0) << (6 + 2 * static_cast<int>(type));
  // A rounded weight is a leaf, too.
  const uint64_t reference = x.getReference();
  if (isLeaf(reference))
    return getLeaf(getRoundedTensor(getLeafTensor(reference), kept),
                   static_cast<int64_t>(getLeafElement(reference)));
  return put(clearBits(get(x), kept, numLanes));
}

Number Residues::normalized(Number x) {
  Residue result = get(x);
  result.q = hash("exponent", result).q;
  return put(result);
}

Number Residues::makeExponent(Number x) {
  return isHidden(x) || get(x).hasExponent() ? x : normalized(x);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// By a bit of the hash of the difference, but for its sign.
int Residues::compare(Number a, Number b) {
  if (!a.isReference() && !b.isReference())
    return a.real() < b.real() ? -1 : a.real() > b.real();
  if (isHidden(a) || isHidden(b))
    return isHidden(a) ? -1 : 1;
  Residue difference = subtractResidues(numLanes, get(a), get(b));
  if (difference == Residue())
    return 0;
  bool isFlipped = difference.p[0] > ModP::value / 2;
  if (isFlipped)
    difference = subtractResidues(numLanes, Residue(), difference);
  bool isGreater = hash("order", difference).p[0] & 1;
  return isGreater != isFlipped ? 1 : -1;
}

/// The number whose hash is the largest.
Number Residues::getMaximum(ArrayRef<Number> row) {
  Number maximum = getHidden();
  std::array<uint64_t, Residue::maxLanes> largest{};
  for (Number x : row) {
    if (isHidden(x))
      continue;
    auto rank = hash("rank", get(x)).p;
    if (!isHidden(maximum) && rank <= largest)
      continue;
    maximum = x;
    largest = rank;
  }
  return maximum;
}

int64_t Residues::toInteger(Number x) {
  return static_cast<int64_t>(hash("integer", get(x)).p[0] >> 32);
}

} // namespace transom
