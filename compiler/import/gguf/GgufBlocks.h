// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized types of tensors: how the bytes of a block give whole numbers, and
// the scales and minimums of its groups.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include "dialects/weights/StoredGroups.h"
#include <memory>

namespace transom::gguf {

/// The most elements and groups of a block.
inline constexpr int64_t maxBlockElements = 256, maxBlockGroups = 16;

/// What a block holds.
struct Block {
  int8_t elements[maxBlockElements];
  float scales[maxBlockGroups];
  float minimums[maxBlockGroups];
};

/// A quantized type whose blocks are read.
struct BlockType {
  const char *name; ///< as of `TensorType`
  StorageType element;
  int64_t group;
  bool minimums;
  void (*readElements)(const uint8_t *bytes, int8_t *elements);
  void (*readScales)(const uint8_t *bytes, Block &block); ///< and minimums
};

/// The row of a type, or null.
const BlockType *findBlockType(std::string_view name);
/// The names of all rows, `Q4_0, Q4_1, ...`.
std::string getBlockTypeNames();

/// Reads a matrix [rows, depth] of such a type; its bytes outlive the reader.
std::shared_ptr<const StoredTensor> makeBlockReader(const TensorType &type,
                                                    const BlockType &block,
                                                    std::string_view bytes,
                                                    int64_t depth);

} // namespace transom::gguf
