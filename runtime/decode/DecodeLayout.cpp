// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions are added and retrieved in the same order.
#include "runtime/decode/DecodeLayout.h"
#include "runtime/abi/Abi.h"
#include <algorithm>

using namespace transom;

/// Max bytes for a session's logits; there is always at least one row per
/// sequence.
constexpr int64_t maxLogitBytes = int64_t(32) << 20;

Result<DecodeLayout> DecodeLayout::create(const ManifestDecoder &decoder,
                                          const DecodeWidths &widths,
                                          const ExecutorConfig &config,
                                          const DecodeConfig &decode) {
  DecodeLayout layout;
  TRANSOM_ASSIGN(KvPlan plan,
                 KvPlan::create(decoder, decode, config.maxTokens));
  layout.plan = std::move(plan);
  layout.maxLogits =
      std::max(decode.maxSequences,
               std::min(config.maxTokens, maxLogitBytes / (4 * widths.logits)));
  return layout;
}

void DecodeLayout::addTo(ExecutorExtension &extension,
                         const DecodeWidths &widths,
                         const ExecutorConfig &config) const {
  // Sum up the blocks of all groups; their memory is provided lazily.
  CheckedSize sequences = CheckedSize::fromSigned(plan.sequences);
  CheckedSize groups(plan.groups.size()), numBlocks(0);
  for (const KvGroup &group : plan.groups) {
    extension.maxReadOnlyKeys.push_back(group.maxPositions);
    numBlocks += CheckedSize::fromSigned(group.numBlocks);
    extension.lazyBytes += CheckedSize::fromSigned(group.numBlocks) *
                           CheckedSize::fromSigned(group.blockBytes);
  }
  // Add the regions for sequences, blocks and logits.
  extension.regions = {
      sequences * 8,          // lengths
      sequences * groups * 8, // first blocks
      sequences * groups * CheckedSize::fromSigned(plan.blocksPerSequence) *
          8,                             // block tables
      numBlocks * 4,                     // ref counts
      numBlocks * 4,                     // free blocks
      numBlocks * 4,                     // used positions
      groups * sizeof(transom_kv_cache), // caches
      CheckedSize::fromSigned(maxLogits + 1) *
          CheckedSize::fromSigned(widths.logits) * sizeof(float)}; // logits
  const CheckedSize summary = CheckedSize::fromSigned(maxLogits) *
                              CheckedSize::fromSigned(widths.groups) *
                              sizeof(float);
  extension.regions.insert(extension.regions.end(), 2, summary);
  // Add the regions for sources.
  const bool hasSources = widths.states > 0;
  const CheckedSize columns =
      CheckedSize::fromSigned(hasSources ? config.maxTokens : 0);
  const CheckedSize batch =
      CheckedSize::fromSigned(hasSources ? config.maxBatch : 0);
  for (CheckedSize bytes :
       {columns * 8, columns * 8,
        columns * CheckedSize::fromSigned(widths.states) * sizeof(float),
        batch * 8, (hasSources ? sequences : 0) * sizeof(SourceOrder)})
    extension.regions.push_back(bytes);
  // Set the bounds for entries over sequences.
  extension.maxSequences = plan.sequences;
  extension.maxKeys = plan.longest;
  extension.maxLogits = maxLogits;
}

void DecodeLayout::place(const ExecutorLayout &executor) {
  const std::vector<Region> &regions = executor.extension;
  lengths = regions[0];
  firstBlocks = regions[1];
  blockTables = regions[2];
  refCounts = regions[3];
  freeBlocks = regions[4];
  usedPositions = regions[5];
  caches = regions[6];
  logits = regions[7];
  maxima = regions[8];
  sums = regions[9];
  sourceIds = regions[10];
  sourceMask = regions[11];
  states = regions[12];
  sourceBlocks = regions[13];
  sourceOrder = regions[14];
  blocks = executor.lazy;
}
