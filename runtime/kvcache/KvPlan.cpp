// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each sequence may leave its last block almost empty, so N positions of S
// sequences take up to (N + 255 S) / 256 blocks. L positions that begin
// anywhere reach into (L + 254) / 256 + 1 blocks; with a window W those are the
// W - 1 before a sequence's new rows, and the rows of a walk. One window more
// lets a step be cancelled after some of its walks, when its sequence needs the
// old one again.
#include "runtime/kvcache/KvPlan.h"
#include <algorithm>

using namespace transom;

/// Blocks of a group without a window; nothing on overflow.
static bool blocksOfAll(const ManifestDecoder &decoder, int64_t sequences,
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

/// Blocks of a group with a window, at most `all`; nothing on overflow.
static bool blocksOfWindow(int64_t window, int64_t sequences, int64_t walkRows,
                           int64_t all, int64_t &blocks) {
  int64_t reached;
  if (__builtin_add_overflow(window, 254, &reached) ||
      __builtin_mul_overflow(reached, sequences, &reached) ||
      __builtin_add_overflow(reached, walkRows, &reached))
    return false;
  int64_t oldWindow = (window + kvBlockSize - 3) / kvBlockSize + 1;
  blocks = std::min(reached / kvBlockSize + sequences + oldWindow, all);
  return true;
}

Result<KvPlan> KvPlan::create(const ManifestDecoder &decoder, int64_t sequences,
                              int64_t kvTokens, int64_t walkRows) {
  const Error overflow = limitError(
      "the sizes of a cache for max_sequences " + std::to_string(sequences) +
      " and max_kv_tokens " + std::to_string(kvTokens) + " overflow");
  KvPlan plan;
  plan.sequences = sequences;
  int64_t all;
  if (!blocksOfAll(decoder, sequences, kvTokens, all))
    return overflow;
  plan.entries = decoder.context ? getNumKvBlocks(*decoder.context) : all;
  for (const ManifestCache &cache : decoder.caches) {
    KvGroup group{cache.window, cache.blockBytes, all};
    if (cache.window > 0 &&
        !blocksOfWindow(cache.window, sequences, walkRows, all, group.blocks))
      return overflow;
    if (cache.window == 0)
      plan.entries = std::min(plan.entries, group.blocks);
    if (group.blocks > INT32_MAX)
      return overflow;
    plan.groups.push_back(group);
  }
  if (plan.entries > INT32_MAX / kvBlockSize)
    plan.entries = INT32_MAX / kvBlockSize;
  plan.longest = plan.entries * kvBlockSize;
  if (decoder.context)
    plan.longest = std::min(plan.longest, *decoder.context);
  return plan;
}
