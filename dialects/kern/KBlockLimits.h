// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The longest K of a product in one pass over its tiles. A check of passes that
// replaces the sizes of a model by smaller ones replaces these limits, too, so
// that passes decide as they do at the sizes of the model.
#pragma once
#include <cstdint>
#include <functional>

namespace transom::kern {

/// The longest K for operands of this many bits: `kMaxKBlock` for 32.
int64_t getMaxKBlockOfBits(int64_t bits);

/// While it lives, the limits of this thread are `scale` of the usual ones.
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
