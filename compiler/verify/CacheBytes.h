// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes and encodes the keys and values at one position in a KV block.
#pragma once
#include "compiler/evaluator/kern/KernEvaluation.h"

namespace transom {

/// Key and value at a position, head by head. Integers have one scale per head.
struct CachedPosition {
  KernEvaluation::CachedRow key, value;

  /// Multiplies integers by their scales.
  void applyScales();
};

/// The bytes for one position in a layer.
class CacheBytes {
public:
  /// `position` is relative to its block.
  CacheBytes(kern::CacheType type, int64_t position);

  /// Reads a position; `layer` is the layer's first byte in the block.
  CachedPosition decode(const char *layer) const;
  /// The inverse of decode().
  void encode(const CachedPosition &numbers, char *layer) const;
  /// Calls `visit` with the offset and byte count for each element and scale.
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
