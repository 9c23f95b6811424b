// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step first counts what it takes (reserve), then takes it walk by walk, so
// that a step that is refused has changed nothing but, where blocks are scarce,
// to let go of those that no later row can see. Blocks that a sequence has at
// the begin of a step stay until its end, so that a step can be cancelled
// between walks.
#include "runtime/kvcache/KvPool.h"
#include <algorithm>
#include <cstring>

using namespace transom;

KvPool::KvPool(const KvPlan &given, const KvStorage &storage)
    : plan(given), memory(storage) {
  std::fill_n(memory.lengths, plan.sequences, int64_t(-1));
  char *begin = memory.blocks;
  uint32_t *users = memory.users, *free = memory.free;
  for (size_t g = 0; g != plan.groups.size(); ++g) {
    const KvGroup &group = plan.groups[g];
    pools.push_back({begin, users, free, group.blocks, 0});
    // Block 0 is taken first.
    for (int64_t i = 0; i != group.blocks; ++i)
      free[i] = uint32_t(group.blocks - 1 - i);
    memory.caches[g].blocks = table(0, g);
    begin += group.blocks * group.blockBytes;
    users += group.blocks;
    free += group.blocks;
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

uint32_t &KvPool::usersOf(size_t group, const char *block) const {
  return pools[group]
      .users[(block - pools[group].begin) / plan.groups[group].blockBytes];
}

/// A block of zeros with one user.
char *KvPool::take(size_t group) {
  Group &pool = pools[group];
  int64_t bytes = plan.groups[group].blockBytes;
  uint32_t index = pool.free[--pool.freeCount];
  char *block = pool.begin + index * bytes;
  pool.users[index] = 1;
  if (int64_t(index) < pool.fresh)
    std::memset(block, 0, size_t(bytes));
  else
    pool.fresh = int64_t(index) + 1; // the system's pages are zero
  return block;
}

void KvPool::drop(size_t group, char *&block) {
  Group &pool = pools[group];
  if (--usersOf(group, block) == 0)
    pool.free[pool.freeCount++] =
        uint32_t((block - pool.begin) / plan.groups[group].blockBytes);
  block = nullptr;
}

/// Lets go of the blocks behind the first `length` positions.
void KvPool::release(int32_t sequence, int64_t length) {
  for (size_t g = 0; g != pools.size(); ++g) {
    char **blocks = table(sequence, g);
    // Those of a step in progress lie behind the sequence's length.
    for (int64_t i = getNumKvBlocks(length); i < plan.entries; ++i)
      if (blocks[i])
        drop(g, blocks[i]);
  }
}

int64_t KvPool::firstSeen(size_t group, int64_t position) const {
  int64_t window = plan.groups[group].window;
  return window ? std::max<int64_t>(0, position - window + 1) / kvBlockSize : 0;
}

/// Lets go of blocks that no row from position `from` on sees.
void KvPool::dropBehindWindow(int32_t sequence, int64_t from) {
  for (size_t g = 0; g != pools.size(); ++g) {
    char **blocks = table(sequence, g);
    int64_t &first = firstOf(sequence, g);
    int64_t end = firstSeen(g, from);
    for (; first < end; ++first)
      if (blocks[first])
        drop(g, blocks[first]);
  }
}

/// Lets go of all blocks that only a rewound sequence would see again.
void KvPool::dropBehindWindows() {
  for (int64_t i = 0; i != plan.sequences; ++i)
    if (memory.lengths[i] >= 0)
      dropBehindWindow(int32_t(i), memory.lengths[i]);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

Result<int32_t> KvPool::open() {
  for (int64_t i = 0; i != plan.sequences; ++i)
    if (memory.lengths[i] < 0) {
      memory.lengths[i] = 0;
      for (size_t g = 0; g != pools.size(); ++g)
        firstOf(int32_t(i), g) = 0;
      return int32_t(i);
    }
  return limitError("all " + std::to_string(plan.sequences) +
                    " sequences of the session are open; a session with a "
                    "larger max_sequences holds more");
}

void KvPool::close(int32_t sequence) {
  if (!isOpen(sequence))
    return;
  release(sequence, 0);
  memory.lengths[sequence] = -1;
}

Result<int32_t> KvPool::fork(int32_t sequence) {
  Result<int32_t> made = open();
  if (!made)
    return made;
  memory.lengths[*made] = memory.lengths[sequence];
  int64_t end = getNumKvBlocks(memory.lengths[sequence]);
  for (size_t g = 0; g != pools.size(); ++g) {
    firstOf(*made, g) = firstOf(sequence, g);
    for (int64_t i = firstOf(sequence, g); i < end; ++i) {
      char *block = table(sequence, g)[i];
      table(*made, g)[i] = block;
      ++usersOf(g, block);
    }
  }
  return made;
}

Result<void> KvPool::rewind(int32_t sequence, int64_t length) {
  for (size_t g = 0; length > 0 && g != pools.size(); ++g)
    if (firstOf(sequence, g) > firstSeen(g, length))
      return limitError("cannot rewind sequence " + std::to_string(sequence) +
                        " from " + std::to_string(memory.lengths[sequence]) +
                        " positions to " + std::to_string(length) +
                        ": its window of " +
                        std::to_string(plan.groups[g].window) +
                        " has let go of positions 0 to " +
                        std::to_string(firstOf(sequence, g) * kvBlockSize - 1));
  memory.lengths[sequence] = length;
  release(sequence, length);
  for (size_t g = 0; length == 0 && g != pools.size(); ++g)
    firstOf(sequence, g) = 0;
  return {};
}

Result<int32_t> KvPool::adopt(int64_t length) {
  for (size_t g = 0; g != pools.size(); ++g) {
    int64_t needed = getNumKvBlocks(length) - firstSeen(g, length);
    if (needed > pools[g].freeCount)
      dropBehindWindows();
    if (needed > pools[g].freeCount)
      return full(needed, g);
  }
  Result<int32_t> made = open();
  if (!made)
    return made;
  memory.lengths[*made] = length;
  for (size_t g = 0; g != pools.size(); ++g) {
    firstOf(*made, g) = firstSeen(g, length);
    for (int64_t i = firstOf(*made, g); i != getNumKvBlocks(length); ++i)
      table(*made, g)[i] = take(g);
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// True when the rows of `index` in a step copy their sequence's last block:
/// the last of those that share it does not.
bool KvPool::copies(size_t group, const StepCutter &cutter,
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
  uint32_t users = usersOf(group, mine);
  for (size_t i = 0; users > 1 && i != index; ++i)
    users -= last(i) == mine;
  return users > 1;
}

/// Blocks of a group that a step lacks; 0: it has all.
int64_t KvPool::missing(size_t group, StepCutter cutter) const {
  int64_t free = pools[group].freeCount, least = free;
  int64_t dropped = 0; // new blocks before this one have gone back
  StepPiece piece;
  while (cutter.next(piece)) {
    int64_t old = length(cutter[piece.index].sequence);
    int64_t from = old + piece.offset;
    if (piece.offset == 0) {
      dropped = getNumKvBlocks(old);
      free -= copies(group, cutter, piece.index);
    }
    int64_t behind = firstSeen(group, from);
    if (behind > dropped) {
      free += behind - dropped;
      dropped = behind;
    }
    free -= getNumKvBlocks(from + piece.count) - getNumKvBlocks(from);
    least = std::min(least, free);
  }
  return std::max<int64_t>(0, -least);
}

Error KvPool::full(int64_t blocks, size_t group) const {
  return limitError(
      "the cache is full: " + std::to_string(blocks * kvBlockSize) +
      " more positions are needed in blocks of 256, " +
      std::to_string(pools[group].freeCount * kvBlockSize) + " are free of " +
      std::to_string(plan.groups[group].blocks * kvBlockSize) +
      "; a session with a larger max_kv_tokens holds more" +
      (plan.groups[group].window ? ", a step of fewer tokens needs less" : ""));
}

Result<void> KvPool::reserve(StepCutter cutter) {
  for (size_t g = 0; g != pools.size(); ++g) {
    if (missing(g, cutter) == 0)
      continue;
    dropBehindWindows();
    if (int64_t lacking = missing(g, cutter))
      return full(lacking + pools[g].freeCount, g);
  }
  return {};
}

void KvPool::extend(int32_t sequence, int64_t from, int64_t count) {
  int64_t old = getNumKvBlocks(length(sequence));
  for (size_t g = 0; g != pools.size(); ++g) {
    char **blocks = table(sequence, g);
    int64_t behind = firstSeen(g, from);
    for (int64_t i = old; i < behind; ++i)
      if (blocks[i])
        drop(g, blocks[i]);
    char *&last = blocks[from / kvBlockSize];
    if (from % kvBlockSize && usersOf(g, last) > 1) {
      char *copy = take(g);
      std::memcpy(copy, last, size_t(plan.groups[g].blockBytes));
      drop(g, last);
      last = copy;
    }
    for (int64_t i = getNumKvBlocks(from); i != getNumKvBlocks(from + count);
         ++i)
      blocks[i] = take(g);
  }
}

void KvPool::commit(int32_t sequence, int64_t length, int64_t from) {
  memory.lengths[sequence] = length;
  dropBehindWindow(sequence, from);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

int64_t KvPool::freeSequences() const {
  return std::count(memory.lengths, memory.lengths + plan.sequences,
                    int64_t(-1));
}

/// The group with the fewest free blocks of those that see all positions, else
/// of all.
size_t KvPool::scarcest() const {
  size_t found = 0;
  auto better = [&](size_t a, size_t b) {
    bool first = plan.groups[a].window == 0,
         second = plan.groups[b].window == 0;
    return first != second ? first : pools[a].freeCount < pools[b].freeCount;
  };
  for (size_t g = 1; g < pools.size(); ++g)
    if (better(g, found))
      found = g;
  return found;
}

int64_t KvPool::freePositions() const {
  return pools.empty() ? plan.longest
                       : pools[scarcest()].freeCount * kvBlockSize;
}

int64_t KvPool::allPositions() const {
  return pools.empty() ? plan.longest
                       : plan.groups[scarcest()].blocks * kvBlockSize;
}
