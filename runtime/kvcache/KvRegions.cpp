// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run with 256 positions consists of units, such as 32-key panels or value
// pairs. Units are in position order.
#include "runtime/kvcache/KvRegions.h"
#include "runtime/abi/Layout.h"
#include <cstring>

using namespace transom;

/// Counts the units that contain the first `positions` positions.
static int64_t countUnits(const ManifestCacheRegion &region,
                          int64_t positions) {
  return (positions + region.positions - 1) / region.positions;
}

/// Calls `function` with the block offset for each run in a region's share:
/// every count-th run.
template <typename Function>
static void forRuns(const ManifestCacheRegion &region, KvShare share,
                    Function function) {
  const int64_t runBytes = kvBlockSize / region.positions * region.bytes;
  const int64_t runs = region.layers * region.heads;
  for (int64_t run = int64_t(share.index); run < runs;
       run += int64_t(share.count))
    function(region.offset + run / region.heads * region.layerBytes +
             run % region.heads * runBytes);
}

void transom::copyPositions(const KvRegions &regions, const char *from,
                            char *to, int64_t count, KvShare share) {
  for (const ManifestCacheRegion &region : regions) {
    const auto bytes = size_t(countUnits(region, count) * region.bytes);
    forRuns(region, share, [&](int64_t offset) {
      std::memcpy(to + offset, from + offset, bytes);
    });
  }
}

void transom::clearPositions(const KvRegions &regions, char *block,
                             int64_t begin, int64_t end, KvShare share) {
  for (const ManifestCacheRegion &region : regions) {
    const int64_t first = countUnits(region, begin) * region.bytes;
    const int64_t last = countUnits(region, end) * region.bytes;
    if (first < last)
      forRuns(region, share, [&](int64_t offset) {
        std::memset(block + offset + first, 0, size_t(last - first));
      });
  }
}

void KvBlockCopy::run(KvShare share) const {
  copyPositions(*regions, from, to, positions, share);
  clearPositions(*regions, to, positions, used, share);
}
