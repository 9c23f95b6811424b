// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks for two layers as the compiler lays them out in each format, with
// padding after each layer.
#pragma once
#include "runtime/abi/Layout.h"
#include "runtime/kvcache/KvRegions.h"
#include <string>
#include <tuple>

namespace transom::test {

struct CacheFormat {
  std::string name;
  int64_t blockBytes;
  KvRegions regions;
};

/// Two heads with 3 key elements, stored as 4 in pairs, and 5 value elements.
inline std::vector<CacheFormat> cacheFormats() {
  const int64_t heads = 2, key = 3, value = 5, padding = 64;
  std::vector<CacheFormat> formats;
  for (auto [name, bytes, rows, scales] :
       {std::tuple("f32", 4, 1, 0), std::tuple("bf16", 2, 2, 0),
        std::tuple("i8", 1, 1, 4)}) {
    const int64_t depth = rows > 1 ? key + 1 : key;
    const int64_t keys = heads * kvBlockSize * depth * bytes;
    const int64_t values = heads * kvBlockSize * value * bytes;
    const int64_t scale = heads * kvBlockSize * scales;
    const int64_t layer = keys + values + 2 * scale + padding;
    CacheFormat format{name, 2 * layer, {}};
    format.regions = {
        {0, 2, layer, heads, panelWidth, depth * panelWidth * bytes},
        {keys + scale, 2, layer, heads, rows, value * rows * bytes}};
    if (scales) {
      format.regions.push_back({keys, 2, layer, heads, 1, scales});
      format.regions.push_back(
          {keys + scale + values, 2, layer, heads, 1, scales});
    }
    formats.push_back(std::move(format));
  }
  return formats;
}

/// For each block byte, the first position in its unit; -1 for padding.
inline std::vector<int16_t> getPositions(const CacheFormat &format) {
  std::vector<int16_t> owners(size_t(format.blockBytes), -1);
  for (const ManifestCacheRegion &region : format.regions)
    for (int64_t layer = 0; layer != region.layers; ++layer)
      for (int64_t i = 0; i != region.heads * kvBlockSize; ++i)
        for (int64_t byte = 0; byte != region.bytes; ++byte) {
          const int64_t unit = i / region.positions;
          owners[size_t(region.offset + layer * region.layerBytes +
                        unit * region.bytes + byte)] =
              int16_t(unit * region.positions % kvBlockSize);
        }
  return owners;
}

} // namespace transom::test
