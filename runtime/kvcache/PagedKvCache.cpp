// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step first counts the blocks that it needs (reserve) and then takes them
// run by run. So a refused step changes nothing, except that blocks to which no
// later token attends are freed if blocks are scarce. A sequence's blocks at
// the start of a step persist until its end, so a step can be cancelled between
// its runs.
#include "runtime/kvcache/PagedKvCache.h"
#include <algorithm>

using namespace transom;

/// Number of positions in a sequence's block `index`, for a sequence with
/// `positions` positions.
static int64_t countInBlock(int64_t index, int64_t positions) {
  return std::min(positions - index * kvBlockSize, kvBlockSize);
}

PagedKvCache::PagedKvCache(const KvPlan &given, const KvStorage &storage)
    : plan(given), memory(storage) {
  std::fill_n(memory.lengths, plan.sequences, int64_t(-1));
  char *begin = memory.blocks;
  uint32_t *refCounts = memory.refCounts, *free = memory.freeBlocks;
  uint32_t *used = memory.usedPositions;
  for (size_t g = 0; g != plan.groups.size(); ++g) {
    const KvGroup &group = plan.groups[g];
    pools.push_back({begin, refCounts, free, used, group.numBlocks});
    // Block 0 is taken first.
    for (int64_t i = 0; i != group.numBlocks; ++i)
      free[i] = uint32_t(group.numBlocks - 1 - i);
    memory.caches[g].block_table = table(0, g);
    begin += group.numBlocks * group.blockBytes;
    refCounts += group.numBlocks;
    free += group.numBlocks;
    used += group.numBlocks;
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

size_t PagedKvCache::getIndex(size_t group, const char *block) const {
  return size_t((block - pools[group].begin) / plan.groups[group].blockBytes);
}

uint32_t &PagedKvCache::getRefCount(size_t group, const char *block) const {
  return pools[group].refCounts[getIndex(group, block)];
}

/// The leading positions in a block that may be nonzero.
uint32_t &PagedKvCache::getUsed(size_t group, const char *block) const {
  return pools[group].used[getIndex(group, block)];
}

/// Takes a block and sets its reference count to one. Its used positions still
/// hold the last owner's values.
char *PagedKvCache::takeUncleared(size_t group) {
  Pool &pool = pools[group];
  const uint32_t index = pool.free[--pool.numFree];
  pool.refCounts[index] = 1;
  return pool.begin + index * plan.groups[group].blockBytes;
}

/// Takes a zeroed block for `positions` positions.
char *PagedKvCache::take(size_t group, int64_t positions) {
  char *block = takeUncleared(group);
  uint32_t &used = getUsed(group, block);
  clearPositions(plan.groups[group].regions, block, 0, used);
  used = uint32_t(positions);
  return block;
}

/// Takes a block that will become a copy of another block's first `positions`
/// positions.
KvBlockCopy PagedKvCache::takeCopy(size_t group, const char *from,
                                   int64_t positions) {
  char *block = takeUncleared(group);
  uint32_t &used = getUsed(group, block);
  const KvBlockCopy copy{&plan.groups[group].regions, from, block, positions,
                         used};
  // The last position's unit may have positions after it.
  used = std::min(getUsed(group, from), uint32_t(alignToPanel(positions)));
  return copy;
}

void PagedKvCache::drop(size_t group, char *&block) {
  Pool &pool = pools[group];
  if (--getRefCount(group, block) == 0)
    pool.free[pool.numFree++] =
        uint32_t((block - pool.begin) / plan.groups[group].blockBytes);
  block = nullptr;
}

/// Frees the growing groups' blocks after the first `length` positions,
/// including blocks taken by a step in progress.
void PagedKvCache::release(int32_t sequence, int64_t length) {
  for (size_t g = 0; g != pools.size(); ++g) {
    if (isReadOnly(g))
      continue;
    char **blocks = table(sequence, g);
    for (int64_t i = getNumKvBlocks(length); i < plan.blocksPerSequence; ++i)
      if (blocks[i])
        drop(g, blocks[i]);
  }
}

void PagedKvCache::releaseReadOnly(int32_t sequence) {
  for (size_t g = 0; g != pools.size(); ++g) {
    if (!isReadOnly(g))
      continue;
    char **blocks = table(sequence, g);
    int64_t &positions = getFirstBlock(sequence, g);
    for (int64_t i = 0; i != getNumKvBlocks(positions); ++i)
      drop(g, blocks[i]);
    positions = 0;
  }
}

int64_t PagedKvCache::getFirstVisibleBlock(size_t group,
                                           int64_t position) const {
  int64_t window = plan.groups[group].window;
  return window ? std::max<int64_t>(0, position - window + 1) / kvBlockSize : 0;
}

/// Frees blocks to which no token from position `from` on attends.
void PagedKvCache::dropOutsideWindow(int32_t sequence, int64_t from) {
  for (size_t g = 0; g != pools.size(); ++g) {
    if (isReadOnly(g))
      continue;
    char **blocks = table(sequence, g);
    int64_t &first = getFirstBlock(sequence, g);
    int64_t end = getFirstVisibleBlock(g, from);
    for (; first < end; ++first)
      if (blocks[first])
        drop(g, blocks[first]);
  }
}

/// Frees all blocks that would be needed again only after a rewind.
void PagedKvCache::dropOutsideWindows() {
  for (int64_t i = 0; i != plan.sequences; ++i)
    if (memory.lengths[i] >= 0)
      dropOutsideWindow(int32_t(i), memory.lengths[i]);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

Result<int32_t> PagedKvCache::create() {
  for (int64_t i = 0; i != plan.sequences; ++i)
    if (memory.lengths[i] < 0) {
      memory.lengths[i] = 0;
      for (size_t g = 0; g != pools.size(); ++g)
        getFirstBlock(int32_t(i), g) = 0;
      return int32_t(i);
    }
  return limitError("all " + std::to_string(plan.sequences) +
                    " sequences of the session are in use; a session with a "
                    "larger max_sequences holds more");
}

void PagedKvCache::free(int32_t sequence) {
  if (!exists(sequence))
    return;
  release(sequence, 0);
  releaseReadOnly(sequence);
  memory.lengths[sequence] = -1;
}

/// Adds a sequence's blocks [begin, end) to another sequence.
void PagedKvCache::share(int32_t from, int32_t to, size_t group, int64_t begin,
                         int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    char *block = table(from, group)[i];
    table(to, group)[i] = block;
    ++getRefCount(group, block);
  }
}

Result<int32_t> PagedKvCache::copy(int32_t sequence) {
  TRANSOM_ASSIGN(int32_t made, create());
  memory.lengths[made] = memory.lengths[sequence];
  for (size_t g = 0; g != pools.size(); ++g) {
    const int64_t first = getFirstBlock(sequence, g);
    getFirstBlock(made, g) = first;
    if (isReadOnly(g))
      share(sequence, made, g, 0, getNumKvBlocks(first));
    else
      share(sequence, made, g, first, getNumKvBlocks(memory.lengths[sequence]));
  }
  return made;
}

Result<void> PagedKvCache::fillReadOnly(int32_t sequence, size_t group,
                                        int64_t positions) {
  if (group >= pools.size() || !isReadOnly(group))
    return usageError("cache group " + std::to_string(group) +
                      " is not read-only");
  const int64_t most = plan.groups[group].maxPositions;
  if (positions < 1 || positions > most)
    return usageError("a read-only cache takes 1 to " + std::to_string(most) +
                      " positions, got " + std::to_string(positions));
  int64_t &filled = getFirstBlock(sequence, group);
  if (filled != 0)
    return usageError("sequence " + std::to_string(sequence) + " has " +
                      std::to_string(filled) + " positions in cache group " +
                      std::to_string(group) + " already");
  const int64_t blocks = getNumKvBlocks(positions);
  if (blocks > pools[group].numFree)
    return makeFullError(blocks, group);
  for (int64_t i = 0; i != blocks; ++i)
    table(sequence, group)[i] = take(group, countInBlock(i, positions));
  filled = positions;
  return {};
}

void PagedKvCache::markAllUsed(int32_t sequence) {
  for (size_t g = 0; g != pools.size(); ++g)
    for (int64_t i = 0; i != plan.blocksPerSequence; ++i)
      if (const char *owned = block(sequence, g, i))
        getUsed(g, owned) = kvBlockSize;
}

Result<void> PagedKvCache::rewind(int32_t sequence, int64_t length) {
  for (size_t g = 0; length > 0 && g != pools.size(); ++g)
    if (!isReadOnly(g) &&
        getFirstBlock(sequence, g) > getFirstVisibleBlock(g, length))
      return limitError(
          "cannot rewind sequence " + std::to_string(sequence) + " from " +
          std::to_string(memory.lengths[sequence]) + " positions to " +
          std::to_string(length) + ": its window of " +
          std::to_string(plan.groups[g].window) +
          " has dropped positions 0 to " +
          std::to_string(getFirstBlock(sequence, g) * kvBlockSize - 1));
  memory.lengths[sequence] = length;
  release(sequence, length);
  for (size_t g = 0; length == 0 && g != pools.size(); ++g)
    if (!isReadOnly(g))
      getFirstBlock(sequence, g) = 0;
  return {};
}

Result<int32_t> PagedKvCache::importSequence(int64_t length) {
  for (size_t g = 0; g != pools.size(); ++g) {
    if (isReadOnly(g))
      continue;
    int64_t needed = getNumKvBlocks(length) - getFirstVisibleBlock(g, length);
    if (needed > pools[g].numFree)
      dropOutsideWindows();
    if (needed > pools[g].numFree)
      return makeFullError(needed, g);
  }
  TRANSOM_ASSIGN(int32_t made, create());
  memory.lengths[made] = length;
  for (size_t g = 0; g != pools.size(); ++g) {
    if (isReadOnly(g))
      continue;
    getFirstBlock(made, g) = getFirstVisibleBlock(g, length);
    for (int64_t i = getFirstBlock(made, g); i != getNumKvBlocks(length); ++i)
      table(made, g)[i] = take(g, countInBlock(i, length));
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Whether input `index` of a step copies its sequence's last block. Among
/// inputs that share a block, the last one does not need a copy.
bool PagedKvCache::needsCopy(size_t group, const StepCutter &cutter,
                             size_t index) const {
  auto last = [&](size_t i) -> const char * {
    int64_t end = length(cutter[i].sequence);
    return end % kvBlockSize
               ? block(cutter[i].sequence, group, end / kvBlockSize)
               : nullptr;
  };
  const char *mine = last(index);
  if (!mine)
    return false;
  uint32_t owners = getRefCount(group, mine);
  for (size_t i = 0; owners > 1 && i != index; ++i)
    owners -= last(i) == mine;
  return owners > 1;
}

/// Counts the blocks that a step lacks in a group.
int64_t PagedKvCache::countMissingBlocks(size_t group,
                                         StepCutter cutter) const {
  if (isReadOnly(group))
    return 0;
  int64_t free = pools[group].numFree, least = free;
  int64_t dropped = 0; // the sequence's blocks before this one are freed
  StepChunk chunk;
  while (cutter.next(chunk)) {
    int64_t old = length(cutter[chunk.index].sequence);
    int64_t from = old + chunk.offset;
    // A sequence's first chunk may copy its last block.
    if (chunk.offset == 0) {
      dropped = getNumKvBlocks(old);
      free -= needsCopy(group, cutter, chunk.index);
    }
    // Subtract blocks taken by this step that are already outside the window.
    int64_t visible = getFirstVisibleBlock(group, from);
    if (visible > dropped) {
      free += visible - dropped;
      dropped = visible;
    }
    free -= getNumKvBlocks(from + chunk.count) - getNumKvBlocks(from);
    least = std::min(least, free);
  }
  return std::max<int64_t>(0, -least);
}

Error PagedKvCache::makeFullError(int64_t blocks, size_t group) const {
  return limitError(
      "the cache is full: " + std::to_string(blocks * kvBlockSize) +
      " more positions are needed in blocks of 256, " +
      std::to_string(pools[group].numFree * kvBlockSize) + " are free of " +
      std::to_string(plan.groups[group].numBlocks * kvBlockSize) +
      "; a session with a larger " +
      (isReadOnly(group) ? "max_source_tokens" : "max_kv_tokens") +
      " holds more" +
      (plan.groups[group].window ? ", a step of fewer tokens needs less" : ""));
}

Result<void> PagedKvCache::reserve(StepCutter cutter) {
  for (size_t g = 0; g != pools.size(); ++g) {
    if (countMissingBlocks(g, cutter) == 0)
      continue;
    dropOutsideWindows();
    if (int64_t lacking = countMissingBlocks(g, cutter))
      return makeFullError(lacking + pools[g].numFree, g);
  }
  return {};
}

void PagedKvCache::extend(int32_t sequence, int64_t from, int64_t count,
                          std::vector<KvBlockCopy> *copies) {
  int64_t old = getNumKvBlocks(length(sequence));
  for (size_t g = 0; g != pools.size(); ++g) {
    if (isReadOnly(g))
      continue;
    // Free blocks taken by this step that are already outside the window.
    char **blocks = table(sequence, g);
    int64_t visible = getFirstVisibleBlock(g, from);
    for (int64_t i = old; i < visible; ++i)
      if (blocks[i])
        drop(g, blocks[i]);
    // Copy the used positions in the last block if another sequence shares it.
    char *&last = blocks[from / kvBlockSize];
    if (from % kvBlockSize && getRefCount(g, last) > 1) {
      const KvBlockCopy copy = takeCopy(g, last, from % kvBlockSize);
      if (copies)
        copies->push_back(copy);
      else
        copy.run();
      drop(g, last);
      last = copy.to;
    }
    // Take new blocks, and note which positions the step may write.
    const int64_t end = from + count;
    if (from % kvBlockSize) {
      uint32_t &used = getUsed(g, last);
      used = std::max(used, uint32_t(countInBlock(from / kvBlockSize, end)));
    }
    for (int64_t i = getNumKvBlocks(from); i != getNumKvBlocks(end); ++i)
      blocks[i] = take(g, countInBlock(i, end));
  }
}

void PagedKvCache::commit(int32_t sequence, int64_t length, int64_t from) {
  memory.lengths[sequence] = length;
  dropOutsideWindow(sequence, from);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

int64_t PagedKvCache::freeSequences() const {
  return std::count(memory.lengths, memory.lengths + plan.sequences,
                    int64_t(-1));
}

/// The growing group with the fewest free blocks; groups without a window take
/// precedence. Nullopt if there is no growing group.
std::optional<size_t> PagedKvCache::findScarcestGroup() const {
  std::optional<size_t> found;
  auto isScarcer = [&](size_t a, size_t b) {
    bool first = plan.groups[a].window == 0,
         second = plan.groups[b].window == 0;
    return first != second ? first : pools[a].numFree < pools[b].numFree;
  };
  for (size_t g = 0; g != pools.size(); ++g)
    if (!isReadOnly(g) && (!found || isScarcer(g, *found)))
      found = g;
  return found;
}

int64_t PagedKvCache::freePositions() const {
  const std::optional<size_t> group = findScarcestGroup();
  return group ? pools[*group].numFree * kvBlockSize : plan.longest;
}

int64_t PagedKvCache::allPositions() const {
  const std::optional<size_t> group = findScarcestGroup();
  return group ? plan.groups[*group].numBlocks * kvBlockSize : plan.longest;
}

int64_t PagedKvCache::freeSourcePositions() const {
  int64_t free = INT64_MAX;
  for (size_t g = 0; g != pools.size(); ++g)
    if (isReadOnly(g))
      free = std::min(free, pools[g].numFree * kvBlockSize);
  return free;
}
