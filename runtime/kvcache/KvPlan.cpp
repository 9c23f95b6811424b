// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N positions in S sequences take at most (N + 255 S) / 256 blocks, because
// each sequence's last block may be almost empty. L consecutive positions reach
// into at most (L + 254) / 256 + 1 blocks. With a window W these are the W - 1
// positions before a sequence's new tokens, and the tokens in a run. Space for
// one more window allows cancelling a step between its runs, when its sequence
// needs its old window again.
#include "runtime/kvcache/KvPlan.h"
#include <algorithm>

using namespace transom;

/// Block count for a group without a window; false on overflow.
static bool countAllBlocks(const ManifestDecoder &decoder, int64_t sequences,
                           int64_t kvTokens, int64_t &blocks) {
  int64_t waste, all;
  if (__builtin_mul_overflow(kvBlockSize - 1, sequences, &waste) ||
      __builtin_add_overflow(kvTokens, waste, &all))
    return false;
  blocks = std::max<int64_t>(all / kvBlockSize, 1);
  int64_t most;
  if (decoder.context &&
      !__builtin_mul_overflow(getNumKvBlocks(*decoder.context), sequences,
                              &most))
    blocks = std::min(blocks, most);
  return true;
}

/// Block count for a group with a window, at most `all`; false on overflow.
static bool countWindowBlocks(int64_t window, int64_t sequences,
                              int64_t runTokens, int64_t all, int64_t &blocks) {
  int64_t reached;
  if (__builtin_add_overflow(window, 254, &reached) ||
      __builtin_mul_overflow(reached, sequences, &reached) ||
      __builtin_add_overflow(reached, runTokens, &reached))
    return false;
  int64_t oldWindow = (window + kvBlockSize - 3) / kvBlockSize + 1;
  blocks = std::min(reached / kvBlockSize + sequences + oldWindow, all);
  return true;
}

/// Plans a group that is filled once; false on overflow.
static bool planReadOnly(const ManifestDecoder &decoder,
                         const DecodeConfig &sizes, int64_t runTokens,
                         KvGroup &group) {
  if (!decoder.encoder.empty())
    group.maxPositions = std::min(group.maxPositions, runTokens);
  const int64_t most = getNumKvBlocks(group.maxPositions);
  if (__builtin_mul_overflow(most, sizes.maxSequences, &group.numBlocks))
    return false;
  if (sizes.maxSourceTokens > 0)
    group.numBlocks = std::min(
        group.numBlocks, std::max(getNumKvBlocks(sizes.maxSourceTokens), most));
  return true;
}

Result<KvPlan> KvPlan::create(const ManifestDecoder &decoder,
                              const DecodeConfig &sizes, int64_t runTokens) {
  const int64_t sequences = sizes.maxSequences, kvTokens = sizes.maxKvTokens;
  const Error overflow = limitError(
      "the sizes of a cache for max_sequences " + std::to_string(sequences) +
      " and max_kv_tokens " + std::to_string(kvTokens) + " overflow");
  KvPlan plan;
  plan.sequences = sequences;
  int64_t all;
  if (!countAllBlocks(decoder, sequences, kvTokens, all))
    return overflow;
  plan.blocksPerSequence =
      decoder.context ? getNumKvBlocks(*decoder.context) : all;
  for (const ManifestCache &cache : decoder.caches) {
    KvGroup group{cache.readOnly,  cache.window, cache.blockBytes, all,
                  cache.positions, cache.regions};
    if (cache.readOnly && !planReadOnly(decoder, sizes, runTokens, group))
      return overflow;
    if (cache.window > 0 && !countWindowBlocks(cache.window, sequences,
                                               runTokens, all, group.numBlocks))
      return overflow;
    if (!cache.readOnly && cache.window == 0)
      plan.blocksPerSequence =
          std::min(plan.blocksPerSequence, group.numBlocks);
    if (group.numBlocks > INT32_MAX)
      return overflow;
    plan.groups.push_back(group);
  }
  plan.blocksPerSequence =
      std::min(plan.blocksPerSequence, INT32_MAX / kvBlockSize);
  plan.longest = plan.blocksPerSequence * kvBlockSize;
  if (decoder.context)
    plan.longest = std::min(plan.longest, *decoder.context);
  // All groups use equally many block table entries.
  for (const KvGroup &group : plan.groups)
    plan.blocksPerSequence =
        std::max(plan.blocksPerSequence, getNumKvBlocks(group.maxPositions));
  return plan;
}
