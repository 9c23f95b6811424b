// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and clears positions of a KV block. A block of 256 positions may have
// megabytes of which a short sequence uses a small part, so nothing else is
// touched.
#pragma once
#include "runtime/manifest/Manifest.h"
#include <cstdint>
#include <vector>

namespace transom {

using KvRegions = std::vector<ManifestCacheRegion>;

/// One of `count` shares of a block, which together are all of it. Different
/// threads may copy or clear different shares.
struct KvShare {
  size_t index = 0, count = 1;
};

/// Copies the first `count` positions of a block, with the positions that share
/// a unit with the last of them.
void copyPositions(const KvRegions &regions, const char *from, char *to,
                   int64_t count, KvShare share = {});

/// Sets positions [begin, end) of a block to zero, except those that share a
/// unit with position begin - 1, and with those that share one with end - 1.
void clearPositions(const KvRegions &regions, char *block, int64_t begin,
                    int64_t end, KvShare share = {});

/// A block that becomes a copy of the first `positions` positions of another
/// one, with zeros after them. Before, its first `used` positions may be other
/// than zero.
struct KvBlockCopy {
  const KvRegions *regions;
  const char *from;
  char *to;
  int64_t positions, used;

  void run(KvShare share = {}) const;
};

} // namespace transom
