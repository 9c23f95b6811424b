// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values of one position of a layer in a KV block, as numbers.
#pragma once
#include "compiler/evaluator/kern/KernEvaluation.h"

namespace transom {

/// Key and value of a position, head by head. Whole numbers have a scale for
/// each head.
struct CachedPosition {
  KernEvaluation::CachedRow key, value;

  /// Multiplies whole numbers by their scales.
  void applyScales();
};

/// One position of a layer in blocks.
class CacheBytes {
public:
  /// `position` counts in its block.
  CacheBytes(kern::CacheType type, int64_t position);

  /// Reads a position; `layer` is where the layer begins in the block.
  CachedPosition decode(const char *layer) const;
  /// Writes what decode() gives.
  void encode(const CachedPosition &numbers, char *layer) const;
  /// Calls `visit` with offset and number of bytes of each element and scale.
  void forEachPart(
      llvm::function_ref<void(int64_t offset, int64_t bytes)> visit) const;

private:
  int64_t getKeyOffset(int64_t head, int64_t i) const;
  int64_t getValueOffset(int64_t head, int64_t i) const;
  int64_t getScaleOffset(int64_t head, bool ofKey) const;

  kern::CacheType type;
  OperandFormat format;
  int64_t position, width;
};

} // namespace transom
