// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4), streaming, with the CPU's SHA instructions if
// available: model files with gigabytes are hashed at compile time.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace transom {

/// An incremental SHA-256 hash.
class Sha256 {
public:
  Sha256();
  /// The implementation to use; `Automatic` uses CPU instructions if available.
  enum class Engine { Automatic, Portable };
  explicit Sha256(Engine engine);

  /// Adds bytes.
  void update(const void *data, size_t size);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  /// The 32-byte hash of all bytes added so far; more may be added afterwards.
  std::array<uint8_t, 32> digest() const;
  /// The hash as 64 lower-case hexadecimal digits.
  std::string hex() const;

  /// Hashes `bytes` to hexadecimal.
  static std::string getHex(std::string_view bytes);

  static constexpr size_t numLanes = 8;
  using Digest = std::array<uint8_t, 32>;
  /// Hashes several strings at once: several times as fast as one after another
  /// if their lengths are equal.
  static std::array<Digest, numLanes>
  getDigests(const std::array<std::string_view, numLanes> &texts,
             Engine engine = Engine::Automatic);

private:
  using Compress = void (*)(uint32_t state[8], const uint8_t *blocks,
                            size_t count);
  using CompressLanes = void (*)(uint32_t states[numLanes][8],
                                 const uint8_t *const blocks[numLanes],
                                 size_t count);
  Compress compress;
  CompressLanes compressLanes;
  uint32_t state[8];
  uint8_t pending[64];
  uint64_t total = 0; // bytes added
};

} // namespace transom
