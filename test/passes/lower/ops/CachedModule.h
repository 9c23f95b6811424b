// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules that write keys and values into cache blocks, and attend to them.
#pragma once
#include "runtime/abi/Layout.h"
#include <string>

namespace transom::test {

inline constexpr double kScale = 0.375;
inline constexpr int64_t kKvBlock = TRANSOM_KV_BLOCK_SIZE;
/// The layer's offset in its blocks.
inline constexpr int64_t kOffset = 192;

/// An attention over a cache, and its module parameters.
struct Cached {
  std::string name;
  int64_t heads = 1, kvHeads = 1, dk = 8, dv = 8;
  int64_t window = 0;
  int64_t reach = 0; ///< for a relative bias, 0: none
  double softCap = 0;
  bool slopes = false, bf16 = false, outBf16 = false;
  bool int8 = false;     ///< the cache is
  bool readOnly = false; ///< the cache is: all of its keys are visible
  bool oneTable = false; ///< the table of its keys has the rows, too
  std::string schedule = "auto";

  int64_t depth() const { return bf16 ? (dk + 1) / 2 * 2 : dk; }
  int64_t bytes() const { return bf16 ? 2 : 4; }
  /// Bytes for a block's keys or values with their scales.
  int64_t cacheBytes(int64_t width) const {
    return kvHeads * kKvBlock * (int8 ? width + 4 : width * bytes());
  }
  int64_t blockBytes() const {
    return kOffset + cacheBytes(depth()) + cacheBytes(dv);
  }
  int64_t scratchFloats() const {
    int64_t heldBlocks = schedule.substr(0, 8) == "two-pass" ? 8 : 1;
    return 24 * (272 * heldBlocks + 16 + 2 * ((dv + 31) / 32 * 32)) + 192;
  }
  int64_t partialFloats() const {
    return 32 * (24 * ((dv + 31) / 32 * 32) + 64);
  }
};

/// A module with two phases: NAME.append and NAME.
std::string getModule(const Cached &c);

} // namespace transom::test
