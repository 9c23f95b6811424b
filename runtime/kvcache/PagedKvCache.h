// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Key/value caches for a session's sequences: KV blocks with 256 positions from
// fixed-size pools, one block table per sequence and group, one reference count
// per block.
//
// Copies of a sequence share its blocks. A growing group has a position for
// each token in the sequence; the used positions in the last block are copied
// when one of its owners continues, and blocks outside the window are freed. A
// read-only group, as for cross attention, is filled once and then only shared
// and freed.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/kvcache/KvPlan.h"
#include "runtime/kvcache/KvRegions.h"
#include "runtime/kvcache/StepCutter.h"
#include <cstdint>

namespace transom {

/// Cache memory, zeroed; see KvPlan for the sizes.
struct KvStorage {
  int64_t *lengths;         ///< [sequences]; -1: does not exist
  int64_t *firstBlocks;     ///< [sequences][groups] see getFirstBlock()
  char **blockTables;       ///< [groups][sequences][blocksPerSequence]
  uint32_t *refCounts;      ///< [groups][blocks], all groups consecutively
  uint32_t *freeBlocks;     ///< the same: a free block stack per group
  uint32_t *usedPositions;  ///< the same: positions that may not be zero
  transom_kv_cache *caches; ///< [groups]
  char *blocks;             ///< the groups' blocks, consecutive
};

class PagedKvCache {
public:
  PagedKvCache(const KvPlan &plan, const KvStorage &storage);

  /// Creates an empty sequence; `Limit` if all are in use.
  Result<int32_t> create();
  /// Frees a sequence; one that does not exist is ignored.
  void free(int32_t sequence);
  /// Creates a sequence that shares all blocks with `sequence`, which exists.
  Result<int32_t> copy(int32_t sequence);
  /// Removes position `length` and all after it. `Limit` if blocks that would
  /// be visible again have been freed. Read-only groups do not change.
  Result<void> rewind(int32_t sequence, int64_t length);
  /// Creates a sequence with `length` positions, with blocks for the positions
  /// that its next token attends to. `Limit` if there is no room.
  Result<int32_t> importSequence(int64_t length);
  /// Gives a sequence blocks for `positions` positions in a read-only group.
  /// The caller fills them before the next step. `Usage` if the group is not
  /// read-only or the sequence has positions in it, `Limit` if there is no
  /// room.
  Result<void> fillReadOnly(int32_t sequence, size_t group, int64_t positions);

  /// Records that the caller wrote a sequence's blocks completely, not only its
  /// positions.
  void markAllUsed(int32_t sequence);

  bool exists(int32_t sequence) const {
    return sequence >= 0 && sequence < plan.sequences &&
           memory.lengths[sequence] >= 0;
  }
  /// Positions of a sequence in growing groups; 0 if it does not exist.
  int64_t length(int32_t sequence) const {
    return exists(sequence) ? memory.lengths[sequence] : 0;
  }
  /// Positions of a sequence in a read-only group.
  int64_t readOnlyLength(int32_t sequence, size_t group) const {
    return exists(sequence) ? getFirstBlock(sequence, group) : 0;
  }

  /// Checks that there are blocks for a whole step, split as by `cutter`:
  /// `Limit` with the number of missing positions. If blocks are scarce, all
  /// sequences free the blocks outside their windows.
  Result<void> reserve(StepCutter cutter);
  /// Gives a sequence exclusive blocks for positions [from, from + count).
  /// reserve() has checked that they exist. Block copies are added to `copies`
  /// if it is not NULL; the caller runs them before it writes to any sequence.
  void extend(int32_t sequence, int64_t from, int64_t count,
              std::vector<KvBlockCopy> *copies = nullptr);
  /// Ends a step: the sequence has `length` positions, its last run began at
  /// `from`.
  void commit(int32_t sequence, int64_t length, int64_t from);
  /// Ends a step that did not complete: the sequence does not change.
  void rollBack(int32_t sequence) { release(sequence, length(sequence)); }

  /// The sequence's first entry in each block table.
  int64_t getFirstTableEntry(int32_t sequence) const {
    return sequence * plan.blocksPerSequence;
  }
  const transom_kv_cache *caches() const { return memory.caches; }

  /// Block `index` in a sequence, NULL if it does not exist.
  char *block(int32_t sequence, size_t group, int64_t index) const {
    return table(sequence, group)[index];
  }
  /// The first block that a token at `position` attends to.
  int64_t getFirstVisibleBlock(size_t group, int64_t position) const;
  const std::vector<KvGroup> &groups() const { return plan.groups; }

  int64_t maxSequences() const { return plan.sequences; }
  int64_t freeSequences() const;
  /// Positions in free blocks, and in all blocks, in the growing group with the
  /// fewest free blocks; groups without a window take precedence.
  int64_t freePositions() const;
  int64_t allPositions() const;
  int64_t longest() const { return plan.longest; }
  /// Positions in free blocks of the read-only group with the fewest free
  /// blocks.
  int64_t freeSourcePositions() const;

private:
  /// A group's blocks, and which are free.
  struct Pool {
    char *begin = nullptr;
    uint32_t *refCounts = nullptr, *free = nullptr, *used = nullptr;
    int64_t numFree = 0;
  };

  bool isReadOnly(size_t group) const { return plan.groups[group].readOnly; }
  char **table(int32_t sequence, size_t group) const {
    return memory.blockTables +
           (group * size_t(plan.sequences) + size_t(sequence)) *
               size_t(plan.blocksPerSequence);
  }
  /// For a growing group, the first block that is kept; for a read-only group,
  /// the number of positions.
  int64_t &getFirstBlock(int32_t sequence, size_t group) const {
    return memory.firstBlocks[size_t(sequence) * plan.groups.size() + group];
  }
  size_t getIndex(size_t group, const char *block) const;
  uint32_t &getRefCount(size_t group, const char *block) const;
  uint32_t &getUsed(size_t group, const char *block) const;
  char *takeUncleared(size_t group);
  char *take(size_t group, int64_t positions);
  KvBlockCopy takeCopy(size_t group, const char *from, int64_t positions);
  void drop(size_t group, char *&block);
  void share(int32_t from, int32_t to, size_t group, int64_t begin,
             int64_t end);
  void release(int32_t sequence, int64_t length);
  void releaseReadOnly(int32_t sequence);
  void dropOutsideWindow(int32_t sequence, int64_t from);
  void dropOutsideWindows();
  int64_t countMissingBlocks(size_t group, StepCutter cutter) const;
  bool needsCopy(size_t group, const StepCutter &cutter, size_t index) const;
  Error makeFullError(int64_t blocks, size_t group) const;
  std::optional<size_t> findScarcestGroup() const;

  KvPlan plan;
  KvStorage memory;
  std::vector<Pool> pools; // by group
};

} // namespace transom
