// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residues of constants. A float64 is a whole number times a power of two and
// has exact residues; but some constants mean other numbers, and passes
// compute new constants from old ones.
#include "compiler/evaluator/ResidueField.h"
#include "compiler/evaluator/Residues.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdio>

namespace transom {

namespace {

/// Residues that are the same in all lanes.
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

/// The exact residues of a finite number.
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

/// prime^(exponent / 2) modulo m, if the prime is a square there.
template <typename Mod>
static std::optional<uint64_t> getRootPower(uint64_t prime, int exponent) {
  uint64_t root = Mod::power(prime, (Mod::value + 1) / 4);
  if (exponent % 2 && Mod::multiply(root, root) != prime)
    return std::nullopt;
  uint64_t power = exponent % 2 ? Mod::power(root, std::abs(exponent))
                                : Mod::power(prime, std::abs(exponent) / 2);
  return exponent < 0 ? Mod::invert(power) : power;
}

/// sqrt(n / m), if it exists modulo p and q.
static std::optional<Pair> getRoot(int64_t n, int64_t m) {
  Pair result = {1, 1};
  for (int64_t prime = 2; n > 1 || m > 1; ++prime) {
    int exponent = 0;
    for (; n % prime == 0; n /= prime)
      ++exponent;
    for (; m % prime == 0; m /= prime)
      --exponent;
    if (exponent == 0)
      continue;
    auto p = getRootPower<ModP>(prime, exponent);
    auto q = getRootPower<ModQ>(prime, exponent);
    if (!p || !q)
      return std::nullopt;
    result = multiplyPairs(result, {*p, *q});
  }
  return result;
}

/// Whole n and m up to this make a root.
static constexpr int64_t largestOfRoot = 16384;

/// n / m that equals x within 2^-48, by its continued fraction.
static std::optional<std::pair<int64_t, int64_t>> getFraction(double x) {
  int64_t n = 1, m = 0, nBefore = 0, mBefore = 1;
  for (double rest = x; rest <= largestOfRoot;) {
    double whole = std::floor(rest);
    nBefore = std::exchange(n, static_cast<int64_t>(whole) * n + nBefore);
    mBefore = std::exchange(m, static_cast<int64_t>(whole) * m + mBefore);
    if (n > largestOfRoot || m > largestOfRoot)
      return std::nullopt;
    double error =
        std::fabs(static_cast<double>(n) / static_cast<double>(m) - x);
    if (n > 0 && error <= std::ldexp(x, -48))
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

/// More constants than this are elements of tables, with which no pass
/// computes.
static constexpr size_t mostScalars = 200;

/// True for a number with few bits, which no other number is meant by.
static bool isShort(double value) {
  return std::fabs(value) < 4096 && value * 4096 == std::floor(value * 4096);
}

/// The rounded result of one operation on known constants, or a known constant
/// rounded to f32, as `how` tells.
std::optional<Residue> Residues::deriveConstant(double value) {
  auto take = [&](const Residue &residue, const std::string &how) {
    equalConstants.push_back(toText(value) + " = " + how);
    return residue;
  };
  auto get = [&](const Residue &a, const Residue &b, bool inverse) {
    Pair factor = {b.p[0], b.q[0]};
    return fill(
        multiplyPairs({a.p[0], a.q[0]}, inverse ? invertPair(factor) : factor),
        numLanes);
  };
  const Residue one = fill({1, 1}, numLanes);
  for (const auto &[a, residue] : constants)
    if (1 / a == value)
      return take(get(one, residue, true), "1 / " + toText(a));
  for (const auto &[a, left] : constants)
    for (const auto &[b, right] : constants) {
      if (a * b == value)
        return take(get(left, right, false), toText(a) + " * " + toText(b));
      if (a / b == value)
        return take(get(left, right, true), toText(a) + " / " + toText(b));
    }
  for (const auto &[a, residue] : constants)
    if (static_cast<float>(a) == value || a == static_cast<float>(value))
      return take(residue, "f32 of " + toText(a));
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
  if (isShort(value))
    return keep(fill(getExact(value), numLanes));
  if (auto fraction = getFraction(value * value)) {
    auto [n, m] = *fraction;
    if (std::optional<Pair> root = getRoot(n, m)) {
      equalConstants.push_back(
          toText(value) + " = " +
          llvm::formatv("{0}sqrt({1}/{2})", value < 0 ? "-" : "", n, m).str());
      if (value < 0)
        root = Pair{ModP::subtract(0, root->p), ModQ::subtract(0, root->q)};
      return keep(fill(*root, numLanes));
    }
  }
  if (derives && constants.size() <= mostScalars)
    if (std::optional<Residue> derived = deriveConstant(value))
      return keep(*derived);
  return keep(fill(getExact(value), numLanes));
}

/// Whole numbers and what hides stay float64.
Number Residues::constant(double value) {
  if (value == std::trunc(value))
    return value;
  return put(getConstant(value));
}

} // namespace transom
