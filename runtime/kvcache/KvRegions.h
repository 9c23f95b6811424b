// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and clears positions in a KV block. A block with 256 positions may
// have megabytes, and a short sequence uses only a small part, so nothing else
// is touched.
#pragma once
#include "runtime/manifest/Manifest.h"
#include <cstdint>
#include <vector>

namespace transom {

using KvRegions = std::vector<ManifestCacheRegion>;

/// One of `count` shares that together cover a block. Different threads may
/// copy or clear different shares.
struct KvShare {
  size_t index = 0, count = 1;
};

/// Copies a block's first `count` positions, along with the positions that
/// share a unit with the last one.
void copyPositions(const KvRegions &regions, const char *from, char *to,
                   int64_t count, KvShare share = {});

/// Sets positions [begin, end) in a block to zero, except for positions that
/// share a unit with position begin - 1, but including positions that share a
/// unit with end - 1.
void clearPositions(const KvRegions &regions, char *block, int64_t begin,
                    int64_t end, KvShare share = {});

/// A block that becomes a copy of another block's first `positions` positions,
/// with zeros after them. Before, its first `used` positions may be nonzero.
struct KvBlockCopy {
  const KvRegions *regions;
  const char *from;
  char *to;
  int64_t positions, used;

  void run(KvShare share = {}) const;
};

} // namespace transom
