// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on residues.
#include "compiler/evaluator/residues/Residues.h"
#include "compiler/evaluator/residues/ResidueField.h"
#include "runtime/base/Sha256.h"
#include "llvm/ADT/STLExtras.h"

using llvm::ArrayRef;

namespace transom {

/// Scores up to this value hide a key, whatever is added to them.
static constexpr double hiding = -1e30;
/// Smaller integers are exact in float64.
static constexpr double wholeLimit = 9007199254740992.0;

static bool isWhole(double x) {
  return std::fabs(x) < wholeLimit && x == std::trunc(x);
}

/// The number needs no residues: it is an integer, or hidden.
static bool staysFloat64(double x) { return isWhole(x) || x <= hiding; }

/// Combines residues lane by lane, modulo p and q.
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

Residue fromHashes(const uint64_t *hashes, int numLanes) {
  Residue result;
  for (int i = 0; i < numLanes; ++i) {
    result.p[i] = ModP::fromHash(hashes[i]);
    result.q[i] = ModQ::fromHash(mixBits(hashes[i]));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Keys and the pool
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
  return isLeaf(reference) ? getLeafAt(reference) : pool[reference];
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

bool Residues::isHidden(Number x) {
  return !x.isReference() && x.real() <= hiding;
}

/// True if both operands and the result are float64.
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

/// A dot product with delayed reduction.
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
    if (isZero(x) || isZero(y)) // usually probabilities for hidden keys
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
  // Each lane hashes the residues in all lanes.
  for (int i = 0; i < numLanes; ++i) {
    hashes[i] = name;
    for (int lane = 0; lane < numLanes; ++lane)
      hashes[i] = mixBits(hashes[i] ^ keys[i]) ^ x.p[lane];
    hashes[i] = mixBits(mixBits(hashes[i]) ^ keys[i]);
  }
  return fromHashes(hashes, numLanes);
}

/// omega^x modulo p, by the bytes in x.
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

/// Residues for cos and sin are a point on the circle c^2 + s^2 = 1; adding
/// angles multiplies the points as complex numbers.
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
  // A hash by frequency selects the point for position 1.
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
  // Repeated squaring gives the point for the position.
  Point power = known->second, point = {one, Residue()};
  for (int64_t rest = position; rest > 0; rest >>= 1) {
    if (rest & 1)
      point = rotate(point, power);
    power = rotate(power, power);
  }
  Number cosine = put(point.first);
  return {cosine, put(point.second)};
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

/// Compares by a bit in the hash of the difference, up to its sign.
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

/// The number with the largest hash.
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
