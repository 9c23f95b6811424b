// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes with sticky overflow. Arithmetic on sizes from files uses this type,
// and one check at the end detects any overflow.
#pragma once
#include <cstdint>
#include <optional>

namespace transom {

/// An unsigned 64-bit size. After an overflow, all results computed from it
/// have no value.
class CheckedSize {
public:
  constexpr CheckedSize() = default;
  constexpr CheckedSize(uint64_t size) : size(size) {}
  /// A size from a signed number; a negative one has no value.
  static constexpr CheckedSize fromSigned(int64_t size) {
    CheckedSize result(static_cast<uint64_t>(size));
    result.bad = size < 0;
    return result;
  }

  /// The size, or nullopt after an overflow.
  constexpr std::optional<uint64_t> value() const {
    return bad ? std::nullopt : std::optional<uint64_t>(size);
  }
  /// The same, limited to INT64_MAX.
  constexpr std::optional<int64_t> signedValue() const {
    return bad || size > static_cast<uint64_t>(INT64_MAX)
               ? std::nullopt
               : std::optional<int64_t>(static_cast<int64_t>(size));
  }
  constexpr bool overflowed() const { return bad; }

  CheckedSize &operator+=(CheckedSize other) {
    bad = bad || other.bad || __builtin_add_overflow(size, other.size, &size);
    return *this;
  }
  /// A difference below zero has no value.
  CheckedSize &operator-=(CheckedSize other) {
    bad = bad || other.bad || __builtin_sub_overflow(size, other.size, &size);
    return *this;
  }
  CheckedSize &operator*=(CheckedSize other) {
    bad = bad || other.bad || __builtin_mul_overflow(size, other.size, &size);
    return *this;
  }
  /// Rounds up to a multiple of `alignment`, which is not zero.
  CheckedSize alignUp(uint64_t alignment) const {
    uint64_t rest = size % alignment;
    return rest == 0 ? *this : *this + CheckedSize(alignment - rest);
  }

  friend CheckedSize operator+(CheckedSize a, CheckedSize b) { return a += b; }
  friend CheckedSize operator-(CheckedSize a, CheckedSize b) { return a -= b; }
  friend CheckedSize operator*(CheckedSize a, CheckedSize b) { return a *= b; }

private:
  uint64_t size = 0;
  bool bad = false;
};

} // namespace transom
