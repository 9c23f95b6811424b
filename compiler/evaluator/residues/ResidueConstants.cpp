// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residues for constants. A float64 is an integer times a power of two, so it
// has exact residues; but some constants approximate other numbers, and passes
// compute new constants from old ones.
#include "compiler/evaluator/residues/ResidueField.h"
#include "compiler/evaluator/residues/Residues.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdio>

namespace transom {

namespace {

/// Residues that all lanes share.
struct Pair {
  uint64_t p, q;
};

} // namespace

static Pair multiplyPairs(Pair a, Pair b) {
  return {ModP::multiply(a.p, b.p), ModQ::multiply(a.q, b.q)};
}

static Pair invertPair(Pair a) {
  return {ModP::invert(a.p), ModQ::invert(a.q)};
}

static Residue fill(Pair pair, int numLanes) {
  Residue residue;
  for (int i = 0; i < numLanes; ++i) {
    residue.p[i] = pair.p;
    residue.q[i] = pair.q;
  }
  return residue;
}

/// Exact residues for a finite number.
static Pair getExact(double value) {
  int exponent;
  auto whole =
      static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  Pair power = {ModP::power(2, std::abs(exponent)),
                ModQ::power(2, std::abs(exponent))};
  return multiplyPairs({ModP::fromInteger(whole), ModQ::fromInteger(whole)},
                       exponent < 0 ? invertPair(power) : power);
}

/// The fourth root of a prime modulo m. The square root that is taken is itself
/// a square, so it has a root. A prime that is not a square has no root; it
/// gets a fixed number instead, so powers multiply as expected, but the fourth
/// power is not the prime.
template <typename Mod> static uint64_t getFourthRoot(uint64_t prime) {
  auto getRoot = [](uint64_t x) { return Mod::power(x, (Mod::value + 1) / 4); };
  const uint64_t root = getRoot(prime);
  return Mod::multiply(root, root) == prime ? getRoot(root)
                                            : Mod::fromHash(mixBits(prime));
}

/// prime^(quarters / 4) modulo m.
template <typename Mod>
static uint64_t getRootPower(uint64_t prime, int quarters) {
  uint64_t power =
      quarters % 4 ? Mod::power(getFourthRoot<Mod>(prime), std::abs(quarters))
                   : Mod::power(prime, std::abs(quarters) / 4);
  return quarters < 0 ? Mod::invert(power) : power;
}

/// (n / m)^(quarters / 4) modulo p and q.
static Pair getRoot(int64_t n, int64_t m, int quarters) {
  Pair result = {1, 1};
  for (int64_t prime = 2; n > 1 || m > 1; ++prime) {
    int exponent = 0;
    for (; n % prime == 0; n /= prime)
      exponent += quarters;
    for (; m % prime == 0; m /= prime)
      exponent -= quarters;
    if (exponent)
      result = multiplyPairs(result, {getRootPower<ModP>(prime, exponent),
                                      getRootPower<ModQ>(prime, exponent)});
  }
  return result;
}

/// Conditions for a number to be interpreted as a root.
struct RootRule {
  double tolerance;     ///< relative, between a power and n / m
  int64_t largest;      ///< n and m are at most this,
  int64_t largestOfAll; ///< and their product is at most this
  bool isFloat32;       ///< the number is a root rounded to f32
};
static constexpr RootRule inFloat64 = {0x1p-48, 16384, 16384 * 16384, false};
/// There are few floats, so only simple roots are unlikely by chance.
static constexpr RootRule inFloat32 = {0x1p-21, 4096, 4096, true};

/// Finds n / m equal to x, by its continued fraction.
static std::optional<std::pair<int64_t, int64_t>>
getFraction(double x, const RootRule &rule) {
  int64_t n = 1, m = 0, nBefore = 0, mBefore = 1;
  for (double rest = x; rest <= static_cast<double>(rule.largest);) {
    double whole = std::floor(rest);
    nBefore = std::exchange(n, static_cast<int64_t>(whole) * n + nBefore);
    mBefore = std::exchange(m, static_cast<int64_t>(whole) * m + mBefore);
    if (n > rule.largest || m > rule.largest || n * m > rule.largestOfAll)
      return std::nullopt;
    double error =
        std::fabs(static_cast<double>(n) / static_cast<double>(m) - x);
    if (n > 0 && error <= x * rule.tolerance)
      return std::pair(n, m);
    if (rest == whole)
      return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

static std::string toText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// With more constants than this, they are table elements, with which no pass
/// computes.
static constexpr size_t mostScalars = 200;

/// True for a number with few bits, which never approximates another.
static bool isShort(double value) {
  return std::fabs(value) < 4096 && value * 4096 == std::floor(value * 4096);
}

/// Interprets a number as a root, and names it: scores are scaled by square
/// roots, query and key by fourth roots.
static std::optional<std::pair<Pair, std::string>>
findRoot(double value, const RootRule &rule) {
  const double square = value * value;
  for (auto [power, quarters, format] :
       {std::tuple(square, 2, "{0}{1}sqrt({2}/{3})"),
        std::tuple(square * square, 1, "{0}{1}({2}/{3})^(1/4)")}) {
    auto fraction = getFraction(power, rule);
    if (!fraction)
      continue;
    auto [n, m] = *fraction;
    auto number = std::pow(static_cast<double>(n) / static_cast<double>(m),
                           quarters / 4.0);
    if (rule.isFloat32 && static_cast<float>(number) != std::fabs(value))
      continue;
    Pair root = getRoot(n, m, quarters);
    if (value < 0)
      root = Pair{ModP::subtract(0, root.p), ModQ::subtract(0, root.q)};
    return std::pair(root,
                     llvm::formatv(format, rule.isFloat32 ? "f32 of " : "",
                                   value < 0 ? "-" : "", n, m)
                         .str());
  }
  return std::nullopt;
}

static bool isFloat32(double value) {
  return static_cast<float>(value) == value;
}

/// Derives a constant from one operation on known constants, from two
/// divisions, or by rounding to f32 in either direction; also returns the
/// expression.
std::optional<std::pair<Residue, std::string>>
Residues::deriveConstant(double value) const {
  auto get = [&](const Residue &a, const Residue &b, bool inverse) {
    Pair factor = {b.p[0], b.q[0]};
    return fill(
        multiplyPairs({a.p[0], a.q[0]}, inverse ? invertPair(factor) : factor),
        numLanes);
  };
  // Half a root in f32 is the root for a quarter in f32, so an ambiguous number
  // is interpreted as the result from the conversion to kern.
  for (const auto &[a, residue] : constants)
    if (!isFloat32(a) && static_cast<float>(a) == value)
      return std::pair(residue, "f32 of " + toText(a));
  const Residue one = fill({1, 1}, numLanes);
  for (const auto &[a, residue] : constants)
    if (1 / a == value)
      return std::pair(get(one, residue, true), "1 / " + toText(a));
  for (const auto &[a, left] : constants)
    for (const auto &[b, right] : constants) {
      if (a * b == value)
        return std::pair(get(left, right, false),
                         toText(a) + " * " + toText(b));
      if (a / b == value)
        return std::pair(get(left, right, true), toText(a) + " / " + toText(b));
      // A scale that replaced a division, divided by another scale.
      if (1 / a / b == value)
        return std::pair(get(get(one, left, true), right, true),
                         "1 / " + toText(a) + " / " + toText(b));
    }
  for (const auto &[a, residue] : constants)
    if (a == static_cast<float>(value))
      return std::pair(residue, toText(a) + " before rounding to f32");
  return std::nullopt;
}

Residue Residues::getConstant(double value) {
  if (!std::isfinite(value))
    return get(getLeaf("constant " + toText(value), 0));
  auto found = constants.find(value);
  if (found != constants.end())
    return found->second;
  auto keep = [&](const Residue &residue) {
    return constants[value] = residue;
  };
  auto keepEqual = [&](const Residue &residue, const std::string &how) {
    equalConstants.push_back(toText(value) + " = " + how);
    return keep(residue);
  };
  if (isShort(value))
    return keep(fill(getExact(value), numLanes));
  if (auto root = findRoot(value, inFloat64))
    return keepEqual(fill(root->first, numLanes), root->second);
  if (derives && constants.size() <= mostScalars)
    if (auto derived = deriveConstant(value))
      return keepEqual(derived->first, derived->second);
  if (isFloat32(value))
    if (auto root = findRoot(value, inFloat32))
      return keepEqual(fill(root->first, numLanes), root->second);
  return keep(fill(getExact(value), numLanes));
}

/// Integers and hidden scores stay float64.
Number Residues::constant(double value) {
  if (value == std::trunc(value))
    return value;
  return put(getConstant(value));
}

} // namespace transom
