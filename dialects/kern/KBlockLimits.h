// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The maximum K that a GEMM processes in one pass over its tiles. When passes
// are checked on a model with reduced sizes, these limits are scaled down too,
// so that passes decide as at the original sizes.
#pragma once
#include <cstdint>
#include <functional>

namespace transom::kern {

/// The maximum K for operands with this element width: `kMaxKBlock` for 32.
int64_t getMaxKBlockOfBits(int64_t bits);

/// Multiplies this thread's limits by `scale` during its lifetime.
class ScaledKBlocks {
public:
  explicit ScaledKBlocks(std::function<int64_t(int64_t)> scale);
  ScaledKBlocks(const ScaledKBlocks &) = delete;
  ScaledKBlocks &operator=(const ScaledKBlocks &) = delete;
  ~ScaledKBlocks();

private:
  friend int64_t getMaxKBlockOfBits(int64_t bits);
  const std::function<int64_t(int64_t)> scale;
  const ScaledKBlocks *const outer;
};

} // namespace transom::kern
