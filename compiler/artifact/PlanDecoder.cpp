// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regions in a block follow from the cache types and offsets. Consecutive
// layers with equal types share their regions.
#include "compiler/artifact/PlanDecoder.h"
#include "dialects/common/Attributes.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/OperandFormat.h"

using namespace mlir;
using namespace transom;

/// Returns the regions for one layer with caches at `offset` in a block.
static SmallVector<ManifestCacheRegion> getRegions(kern::CacheType type,
                                                   int64_t offset) {
  const OperandFormat format = type.getFormat();
  const int64_t heads = type.getHeads(), element = type.getElementBytes();
  const int64_t bytes = type.getByteSize(), rows = format.interleave;
  SmallVector<ManifestCacheRegion> regions = {
      {offset, 1, bytes, heads, panelWidth,
       type.getDepth() * panelWidth * element},
      {offset + type.getKeyBytes(), 1, bytes, heads, rows,
       type.getValue() * rows * element}};
  if (!format.scales)
    return regions;
  const int64_t scale = getStorageBits(*format.scales) / 8;
  for (int64_t scales : {type.getKeyScales(), type.getValueScales()})
    regions.push_back({offset + scales, 1, bytes, heads, 1, scale});
  return regions;
}

/// Adds a layer's regions to its group. `last` is the previous layer's first
/// region in the group.
static void addLayer(std::vector<ManifestCacheRegion> &regions, size_t &last,
                     ArrayRef<ManifestCacheRegion> layer) {
  auto continues = [&](const ManifestCacheRegion &before,
                       const ManifestCacheRegion &region) {
    return before.offset + before.layers * before.layerBytes == region.offset &&
           before.layerBytes == region.layerBytes &&
           before.heads == region.heads &&
           before.positions == region.positions && before.bytes == region.bytes;
  };
  if (regions.size() - last == layer.size() &&
      std::equal(layer.begin(), layer.end(), regions.begin() + last,
                 [&](const auto &region, const auto &before) {
                   return continues(before, region);
                 })) {
    for (size_t i = last; i != regions.size(); ++i)
      ++regions[i].layers;
    return;
  }
  last = regions.size();
  regions.insert(regions.end(), layer.begin(), layer.end());
}

static std::vector<ManifestCacheRegion> planRegions(ModuleOp module,
                                                    int64_t group) {
  std::vector<ManifestCacheRegion> regions;
  size_t last = 0;
  for (auto cache : module.getOps<kern::CacheOp>())
    if (static_cast<int64_t>(cache.getGroup().value_or(0)) == group)
      addLayer(regions, last,
               getRegions(cast<kern::CacheType>(cache.getType()),
                          cache.getOffset().value_or(0)));
  return regions;
}

static ManifestCache planCache(DictionaryAttr group) {
  auto getNumber = [&](StringRef key) {
    return getInteger(group, key).value_or(0);
  };
  ManifestCache cache;
  cache.window = getNumber("window");
  cache.layers = getNumber("layers");
  cache.blockBytes = getNumber("bytes");
  cache.positions = getNumber("positions");
  cache.readOnly = cache.positions > 0;
  Type element = group.getAs<TypeAttr>("type").getValue();
  cache.dtype = *dtypeFromName(getStorageName(*kern::findStorageType(element)));
  return cache;
}

static std::string getText(func::FuncOp function, StringRef name) {
  auto text = function->getAttrOfType<StringAttr>(name);
  return text ? text.getValue().str() : "";
}

Result<ManifestDecoder> transom::planDecoder(ModuleOp module, func::FuncOp step,
                                             func::FuncOp source) {
  ManifestDecoder decoder;
  const DictionaryAttr attributes = step->getDiscardableAttrDictionary();
  decoder.context = getInteger(attributes, "transom.context");
  decoder.vocabulary = getInteger(attributes, "transom.vocabulary").value_or(0);
  decoder.startRule = getText(step, "transom.start_rule");
  decoder.classRow = getText(step, "transom.class_row");
  decoder.classToken = getInteger(attributes, "transom.class_token");
  if (source) {
    decoder.encoder = getText(source, "transom.encoder");
    if (decoder.encoder.empty())
      return internalError("source entry '" + source.getSymName().str() +
                           "' has no attribute 'transom.encoder'");
  }
  if (auto groups = module->getAttrOfType<ArrayAttr>("kern.cache_groups"))
    for (auto [index, group] : llvm::enumerate(groups)) {
      decoder.caches.push_back(planCache(cast<DictionaryAttr>(group)));
      decoder.caches.back().regions =
          planRegions(module, static_cast<int64_t>(index));
    }
  return decoder;
}
