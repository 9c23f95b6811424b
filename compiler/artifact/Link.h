// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links object files in memory to a shared object whose last segment is room
// for the weights.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// A linked shared object around the hole for its weights.
struct LinkedImage {
  std::string head;             ///< the file up to the weights
  uint64_t weightsOffset = 0;   ///< page-aligned, in the file and in memory
  uint64_t weightsBytes = 0;    ///< hole size
  std::string tail;             ///< names and section headers after it
  uint64_t tailOffset = 0;      ///< offset of the tail in the file
  uint64_t manifestOffset = 0;  ///< note descriptor offset, in the head
  uint64_t tokenizerOffset = 0; ///< 0 without a tokenizer
};

/// Links `objects`; fails on an undefined symbol. Only the artifact's struct
/// is exported. No file on disk is read or written.
Result<LinkedImage> linkArtifact(const std::vector<std::string> &objects,
                                 uint64_t weightBytes);

} // namespace transom
