// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of keys and values: blocks of 256 positions from a pool that is
// fixed when the session is made, one table of blocks per sequence and group, a
// count of users per block. Sequences with a common past share blocks; the last
// one is copied when one of them goes on. Blocks behind a window go back.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/decode/StepCutter.h"
#include "runtime/kvcache/KvPlan.h"
#include <cstdint>

namespace transom {

/// The memory of a pool, zeroed; see KvPlan for the sizes.
struct KvStorage {
  int64_t *lengths;      ///< [sequences]; -1: not open
  int64_t *first;        ///< [sequences][groups] first block that is kept
  char **tables;         ///< [groups][sequences][entries]
  uint32_t *users;       ///< [groups][blocks of all groups in turn]
  uint32_t *free;        ///< likewise: a stack of free blocks of each group
  transom_cache *caches; ///< [groups]
  char *blocks;          ///< the groups' blocks, one group behind the other
};

class KvPool {
public:
  KvPool(const KvPlan &plan, const KvStorage &storage);

  /// A new empty sequence; `Limit` when all are taken.
  Result<int32_t> open();
  /// Lets go of a sequence; a handle that is not open is ignored.
  void close(int32_t sequence);
  /// A new sequence that shares all blocks of `sequence`, which is open.
  Result<int32_t> fork(int32_t sequence);
  /// Drops what stands at `length` and behind it. `Limit` when blocks that
  /// would be seen again are gone.
  Result<void> rewind(int32_t sequence, int64_t length);
  /// A new sequence of `length` positions, with new blocks for those that its
  /// next row sees. `Limit` when there is no room.
  Result<int32_t> adopt(int64_t length);

  bool isOpen(int32_t sequence) const {
    return sequence >= 0 && sequence < plan.sequences &&
           memory.lengths[sequence] >= 0;
  }
  /// Positions of a sequence; 0 when it is not open.
  int64_t length(int32_t sequence) const {
    return isOpen(sequence) ? memory.lengths[sequence] : 0;
  }

  /// Tells whether there are blocks for all of a step, cut as `cutter` says:
  /// `Limit` with the positions that are missing. Where blocks are scarce, all
  /// sequences let go of what lies behind their windows.
  Result<void> reserve(StepCutter cutter);
  /// Makes sure that positions [from, from + count) of a sequence have blocks
  /// of its own, which reserve() has found to be there.
  void extend(int32_t sequence, int64_t from, int64_t count);
  /// Ends a step: the sequence has `length` positions; its last rows began at
  /// `from`.
  void commit(int32_t sequence, int64_t length, int64_t from);
  /// Ends a step that was not finished: the sequence stays as it was.
  void rollBack(int32_t sequence) { release(sequence, length(sequence)); }

  /// The sequence's first entry in each table.
  int64_t firstBlock(int32_t sequence) const { return sequence * plan.entries; }
  const transom_cache *caches() const { return memory.caches; }

  /// Block `index` of a sequence, NULL where there is none.
  char *block(int32_t sequence, size_t group, int64_t index) const {
    return table(sequence, group)[index];
  }
  /// The first block that a row at `position` sees.
  int64_t firstSeen(size_t group, int64_t position) const;
  const std::vector<KvGroup> &groups() const { return plan.groups; }

  int64_t maxSequences() const { return plan.sequences; }
  int64_t freeSequences() const;
  /// Positions in blocks that no sequence uses, and in all blocks, of the group
  /// with the fewest of those that see all positions.
  int64_t freePositions() const;
  int64_t allPositions() const;
  int64_t longest() const { return plan.longest; }

private:
  /// Where the blocks of a group are, and which of them are free.
  struct Group {
    char *begin = nullptr;
    uint32_t *users = nullptr, *free = nullptr;
    int64_t freeCount = 0;
    int64_t fresh = 0; ///< blocks from here on were never taken
  };

  char **table(int32_t sequence, size_t group) const {
    return memory.tables + (group * size_t(plan.sequences) + size_t(sequence)) *
                               size_t(plan.entries);
  }
  int64_t &firstOf(int32_t sequence, size_t group) {
    return memory.first[size_t(sequence) * plan.groups.size() + group];
  }
  uint32_t &usersOf(size_t group, const char *block) const;
  char *take(size_t group);
  void drop(size_t group, char *&block);
  void release(int32_t sequence, int64_t length);
  void dropBehindWindow(int32_t sequence, int64_t from);
  void dropBehindWindows();
  int64_t missing(size_t group, StepCutter cutter) const;
  bool copies(size_t group, const StepCutter &cutter, size_t index) const;
  Error full(int64_t blocks, size_t group) const;
  size_t scarcest() const;

  KvPlan plan;
  KvStorage memory;
  std::vector<Group> pools;
};

} // namespace transom
