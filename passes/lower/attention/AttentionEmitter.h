// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits one attention operation. A work item is a block of query rows for one
// head; its keys are divided into KV blocks with 256 keys. Schedules differ in
// the scores that they keep and in the worker that computes each KV block; the
// result bits do not depend on them.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// log2 e: `exp(x)` is `exp2(x * log2 e)`.
constexpr double kLog2E = 1.4426950408889634;

class AttentionEmitter {
public:
  AttentionEmitter(PhaseEmitter &e, kern::AttentionOp op);

  /// Emits this worker's share of the work.
  void emit();

private:
  using Value = mlir::Value;

  /// Reports the tiles for this instruction set.
  void report();
  void reportDivision();

  /// One sequence in the ragged batches, as queries and as keys.
  struct Sequence {
    Index index;    ///< in the batch
    Index firstRow; ///< first query row
    Index numRows;  ///< tokens that are queries
    Index firstKeyRow, numKeys;
    Index keyBase;    ///< first key position in key panels
    Index firstBlock; ///< first entry in a cache's block table
    /// Whether the query heads that share a key head are packed as rows in one
    /// work item (packed GQA): for a single query that reads a cache. Absent if
    /// this never happens.
    std::optional<Bool> packed;
    Index numQueries;    ///< per head: rows, or packed heads
    Index numHeads;      ///< heads with separate work items
    Index blocksPerHead; ///< query blocks, each a work item
    Index numKvBlocks;   ///< at least one
    Index cost;          ///< per work item

    Index getNumItems() const { return blocksPerHead * numHeads; }
  };
  /// A query block for one head; keys `from` to `to` contain all keys that at
  /// least one query sees.
  struct WorkItem {
    const Sequence &s;
    Index head, firstQuery, numQueries, from, to;
    Index next; ///< the next item's index in the sequence
    Index firstKvBlock = {}, lastKvBlock = {}; ///< `lastKvBlock` is exclusive
  };
  /// The keys [start, end) in the KV block that begins at key `base`. The
  /// difference between start and base is divisible by the panel width.
  struct KvBlock {
    Index base, start, end;
    Value keys, values;                     ///< keys and values from `base` on
    Value keyScales = {}, valueScales = {}; ///< if the format has scales
    Value nextKeys, nextValues;             ///< read afterwards; to prefetch
    Value scores; ///< [queries][score stride], for the keys from `base` on
    Value maxima; ///< [queries][16]
    Value packedValues = {}; ///< for AMX: [dv / 32][256 / 2][32][2]
  };
  /// Softmax state for some KV blocks.
  struct SoftmaxState {
    Value output;  ///< [queries][value stride], not yet divided by the sum
    Value maximum; ///< [queries]
    Value sum;     ///< [queries]
  };

  // Operands (AttentionOperands.cpp).
  Sequence loadSequence(Index i, Index blockRows);
  /// Elements from one query to the next in rows that contain heads of this
  /// width.
  Index queryStride(const Sequence &s, Value buffer, int64_t width);
  /// An item's query address in rows that contain heads of this width.
  Value queryAddress(const WorkItem &item, Value buffer, int64_t width,
                     Index query);
  Value inputAddress(const WorkItem &item, Index query) {
    return queryAddress(item, op.getQuery(), dk, query);
  }
  Value outputAddress(const WorkItem &item, Index query) {
    return queryAddress(item, op.getOuts(), dv, query);
  }
  /// The head of an item's query.
  Index queryHead(const WorkItem &item, Index query);
  /// The key head that a sequence's head reads.
  Index keyHead(const Sequence &s, Index head);
  /// The layer's data in the cache block that holds a key.
  Value cacheBlock(const Sequence &s, Index key);
  /// A head's keys or values from the first key in a KV block on.
  Value keysFrom(const Sequence &s, Index head, Index key);
  Value valuesFrom(const Sequence &s, Index head, Index key);
  /// The scales for a head's keys or values, which begin at `offset` in the
  /// layer's data.
  Value scalesFrom(const Sequence &s, Index head, Index key, int64_t offset);
  /// Bytes from one panel to the next in a head's keys.
  int64_t getKeyPanelBytes();
  /// Bytes per key in a key panel step.
  int64_t getLaneBytes() const {
    return keyFormat.getFormat().getColumnBytes();
  }
  /// Bytes per value element.
  int64_t getValueBytes() const { return valueFormat.getElementBytes(); }
  /// Whether AMX computes the matmuls.
  bool usesAmx() { return e.getIsa().amx && op.suitsAmx(); }
  /// True if keys and values have a scale for each head and position.
  bool hasScales() const { return keyFormat.getFormat().hasScales(); }
  /// A query's position among the keys in its sequence.
  Index queryPosition(const Sequence &s, Index query);
  /// The key range that a query in the sequence sees.
  IndexPair visibleKeys(const Sequence &s, Index query);

  // Positions by column (AttentionPositions.cpp).
  /// The keys that all queries in a range see, and the keys that any query
  /// sees.
  struct KeyRanges {
    Index allFrom, allTo, someFrom, someTo;
  };
  KeyRanges getKeyRanges(const Sequence &s, Index first, Index end);
  Value columnAddress(Index row);
  Index loadColumn(Index row);
  Index firstKeyFrom(const Sequence &s, Index column);
  IndexPair visibleByColumn(const Sequence &s, Index query);
  Value keyDistances(const WorkItem &item, Index query, Index key);
  /// The distances from a query to 16 keys, clamped to `reach` on either side,
  /// as indices into a table that begins with distance -reach.
  Value distanceIndices(const WorkItem &item, Index query, Index key,
                        int64_t reach);
  Value addRelativeBias(Value t, const WorkItem &item, Index query, Index key);
  /// Locates a query's products with relative positions.
  struct PositionRow {
    PositionBuckets rule;
    Index query;    ///< in the item
    Index distance; ///< from the query to the sequence's first key
    /// Whether keys are adjacent. Absent if they always are.
    std::optional<Bool> withoutGaps;
    Value table; ///< position table
    Value row;   ///< the query's products, or null
  };
  PositionRow getPositionRow(const WorkItem &item, Index query);
  Value addPositionScores(Value t, const WorkItem &item, const PositionRow &own,
                          Index key);
  Value addAtPositions(Value t, const WorkItem &item, const PositionRow &own,
                       Index key, Value positions);
  Value addInOrder(Value t, const WorkItem &item, const PositionRow &own,
                   Index key, Index position);
  Value keyScores(const WorkItem &item, Index key, Value index);

  // Division of the work (LowerAttention.cpp).
  Index batchSize();
  /// Distributes items over the workers by cost. `work` returns the item count
  /// and the item cost for a sequence; `body` gets a sequence, an item index in
  /// it, and the item count in earlier sequences.
  void
  distribute(llvm::function_ref<IndexPair(const Sequence &)> work,
             llvm::function_ref<void(const Sequence &, Index, Index)> body);
  /// Work item cost in addition to queries times keys, in the same unit.
  /// Measured: equal to 256 scores for dk = dv = 32.
  int64_t getItemCost() const { return 24576 / (dk + dv + 32); }
  /// The maximum query count per work item in any call. A causal item computes
  /// scores up to its last query's last key, so smaller items waste less work.
  int64_t getLargestBlock() {
    if (usesAmx())
      return kern::kAmxQueryBlock;
    return op.getCausal() ? kern::kQueryBlock / 2 : kern::kQueryBlock;
  }
  /// Whether a single query packs the heads that share a key head.
  bool packsHeads() { return op.getCache() && group > 1; }
  /// The maximum query count per work item in this call.
  Index chooseBlockRows();
  WorkItem getWorkItem(const Sequence &s, Index index);
  /// Sets an item's KV block range.
  void setKvBlocks(WorkItem &item);
  KvBlock getKvBlock(const WorkItem &item, Index index);
  void emitItem(const Sequence &s, Index index);
  void emitFirstPass(const WorkItem &item);
  /// Computes an item's KV blocks sequentially. `twoPass`: the scores are
  /// already computed; may be absent.
  void emitKvBlocks(const WorkItem &item, std::optional<Bool> twoPass);

  // Prefetching (LowerAttention.cpp).
  void setPrefetch(KvBlock &block, const WorkItem &item, Index index);
  void prefetchItem(const WorkItem &item);
  void prefetchRows(Value first, Index rows, Index stride, int64_t bytes);

  // KV blocks distributed over workers (AttentionSplitKv.cpp).
  Bool shouldSplitKv();
  void emitSplitKv();
  void emitSplitKvBlock(const WorkItem &item, Index index, Index firstSlot);
  SoftmaxState getSlot(Index index);

  // Scores and probabilities (AttentionScores.cpp).
  void emitScores(const WorkItem &item, const KvBlock &block);
  /// Divides an item's queries into tiles for a matmul with this operand.
  void forTiles(const WorkItem &item, const OperandLowering &rhs,
                llvm::function_ref<void(Index, Index)> body);
  void emitSoftmax(const WorkItem &item, const KvBlock &block,
                   const SoftmaxState &state);
  void emitProbabilities(const KvBlock &block, Index query,
                         const SoftmaxState &state);
  void emitMasks(const WorkItem &item, const KvBlock &block, Index query);
  Value emitSoftCap(Value t);
  Value addSlope(Value t, const WorkItem &item, Index query, Index key);
  Value addMask(Value t, const WorkItem &item, Index query, Index key,
                Value seen);

  // The matmul with the values (AttentionProduct.cpp).
  KernelSpec getProductSpec(bool normalizes);
  void emitProduct(const WorkItem &item, const KvBlock &block, Value target,
                   Value divisors);
  void startAmx();
  void packValues(const WorkItem &item, KvBlock &block);
  void copyValues(const KvBlock &block);
  /// A column's address in the packed values.
  Value packedColumns(const KvBlock &block, int64_t column) {
    return e.advance(block.packedValues,
                     column * kvBlockSize * getValueBytes());
  }
  void emitMerge(const WorkItem &item, const SoftmaxState &state,
                 const SoftmaxState &block, Bool isLast);
  /// Quantizes an item's results if integer results are requested.
  void quantizeResults(const WorkItem &item);
  void emitMergeFactors(const WorkItem &item, const SoftmaxState &state,
                        const SoftmaxState &block);

  /// An element's address in rows with `stride` f32.
  Value elementAt(Value base, Index row, int64_t stride, Index column) {
    return e.advance(base, (row * stride + column) * 4);
  }
  /// A row's entry in an f32 vector.
  Value rowValueAt(Value base, Index row) { return e.advance(base, row * 4); }

  bool masksRows() { return isBounded() || changesScores(); }
  /// True if the scores for all keys are transformed after the matmul.
  bool changesScores() {
    return op.getMask() || op.getSlopes() || op.getRelativeBias() ||
           op.getPositionBuckets() || hasSoftCap();
  }
  bool hasSoftCap() { return op.getSoftCap().convertToDouble() != 0; }
  /// True if a query sees only a key range.
  bool isBounded() { return op.getCausal() || op.getWindow(); }

  PhaseEmitter &e;
  kern::AttentionOp op;
  kern::AttentionSchedule schedule;
  int64_t heads;
  int64_t group;      ///< query heads per key head
  int64_t queryBlock; ///< rows for which memory is allocated
  int64_t dk, dv, valueStride, scoreStride;
  const OperandLowering &keyFormat, &valueFormat;
  Index blockRows;
  // This worker's scratch memory.
  Value scores, maxima;
  Value tileConfig; ///< for AMX; see KernelArgs
  /// For AMX: the values for some KV blocks,
  /// [kPackedBlocks][dv/32][256/2][32][2] in bf16, and the block numbers,
  /// [kPackedBlocks] i64.
  Value valuePanels, packedBlocks;
  SoftmaxState state, blockState;   ///< for all KV blocks so far; for one
  Value stateFactors, blockFactors; ///< [queries], for a merge
};

} // namespace transom::lower
