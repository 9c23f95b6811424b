// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic modulo p and q = (p - 1) / 2, both prime, and the hash that
// replaces functions.
#pragma once
#include <cstdint>

namespace transom {

/// A modulus 2^bits - gap.
template <unsigned bits, uint64_t gap> struct Modulus {
  using Wide = unsigned __int128;
  static constexpr uint64_t value = (uint64_t(1) << bits) - gap;

  /// Reduces any number.
  static uint64_t reduce(Wide x) {
    constexpr uint64_t mask = (uint64_t(1) << bits) - 1;
    x = (x & mask) + (x >> bits) * gap;
    x = (x & mask) + (x >> bits) * gap;
    auto rest = static_cast<uint64_t>(x & mask) +
                static_cast<uint64_t>(x >> bits) * gap;
    return rest >= value ? rest - value : rest;
  }
  static uint64_t add(uint64_t a, uint64_t b) {
    uint64_t sum = a + b;
    return sum >= value ? sum - value : sum;
  }
  static uint64_t subtract(uint64_t a, uint64_t b) {
    return a >= b ? a - b : a + value - b;
  }
  static uint64_t multiply(uint64_t a, uint64_t b) {
    return reduce(static_cast<Wide>(a) * b);
  }
  static uint64_t power(uint64_t x, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, x = multiply(x, x))
      if (exponent & 1)
        result = multiply(result, x);
    return result;
  }
  /// 1 / x; 0 for 0.
  static uint64_t invert(uint64_t x) { return power(x, value - 2); }
  static uint64_t fromInteger(int64_t x) {
    uint64_t size = x < 0 ? uint64_t(0) - static_cast<uint64_t>(x) : x;
    uint64_t rest = reduce(size);
    return x < 0 ? subtract(0, rest) : rest;
  }
  /// Converts hash bits to a residue.
  static uint64_t fromHash(uint64_t hash) {
    uint64_t rest = hash >> (64 - bits);
    return rest >= value ? rest - value : rest;
  }
};

/// q, about 2^60; 2, 3, 5, 7, 11 and 13 are squares modulo p and q, and both
/// are 3 modulo 4, so x^((m + 1) / 4) is a square root of a square x.
using ModQ = Modulus<60, 1544657>;
/// p = 2 q + 1.
using ModP = Modulus<61, 3089313>;
static_assert(ModP::value == 2 * ModQ::value + 1);

/// A square modulo p, so its powers repeat after q.
inline constexpr uint64_t omega = 4;

/// Mixes the bits in a word (splitmix64).
inline uint64_t mixBits(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace transom
