// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011). A number depends only on the seed, the
// stream and the index, so the order of computation does not matter.
#pragma once
#include <cstdint>

namespace transom {

/// Returns a number in [0, 1) with 53 bits: value `index` in stream `stream`
/// for `seed`.
inline double getUniform(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  uint32_t x[4] = {uint32_t(index), uint32_t(index >> 32), uint32_t(stream),
                   uint32_t(stream >> 32)};
  for (int round = 0; round != 10; ++round) {
    const uint64_t a = uint64_t(0xd2511f53) * x[0];
    const uint64_t b = uint64_t(0xcd9e8d57) * x[2];
    const uint32_t next[4] = {uint32_t(b >> 32) ^ x[1] ^ key[0], uint32_t(b),
                              uint32_t(a >> 32) ^ x[3] ^ key[1], uint32_t(a)};
    for (int i = 0; i != 4; ++i)
      x[i] = next[i];
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  const uint64_t bits = (uint64_t(x[1]) << 32 | x[0]) >> 11;
  return double(bits) * 0x1p-53;
}

} // namespace transom
