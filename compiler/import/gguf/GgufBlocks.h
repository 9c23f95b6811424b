// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized tensor types: unpacks blocks into integers, group scales and group
// offsets.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include "dialects/weights/StoredGroups.h"
#include <memory>

namespace transom::gguf {

/// Max element and group count in a block.
inline constexpr int64_t maxBlockElements = 256, maxBlockGroups = 16;

/// Block contents.
struct Block {
  int8_t elements[maxBlockElements];
  float scales[maxBlockGroups];
  float minimums[maxBlockGroups];
};

/// A supported quantized type.
struct BlockType {
  const char *name; ///< as in `TensorType`
  StorageType element;
  int64_t group;
  bool minimums;
  void (*readElements)(const uint8_t *bytes, int8_t *elements);
  void (*readScales)(const uint8_t *bytes, Block &block); ///< and offsets
};

/// Returns a type's row, or null.
const BlockType *findBlockType(std::string_view name);
/// Returns all type names, `Q4_0, Q4_1, ...`.
std::string getBlockTypeNames();

/// Returns a reader for a matrix [rows, depth] with this type; its bytes
/// outlive the reader.
std::shared_ptr<const StoredTensor> makeBlockReader(const TensorType &type,
                                                    const BlockType &block,
                                                    std::string_view bytes,
                                                    int64_t depth);

} // namespace transom::gguf
