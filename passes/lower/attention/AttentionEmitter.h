// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits one attention operation. A work item is a block of query rows of one
// head; its keys come in KV blocks of 256. Schedules differ in which scores are
// held and which worker computes which KV block; the bits of the result do not
// depend on them.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// log2 e: multiplying by it turns powers of e into powers of two.
constexpr double kLog2E = 1.4426950408889634;

class AttentionEmitter {
public:
  AttentionEmitter(PhaseEmitter &e, kern::AttentionOp op);

  /// Emits this worker's share of the work.
  void emit();

private:
  using Value = mlir::Value;

  /// Reports the tiles of this instruction set.
  void report();
  void reportDivision();

  /// One sequence of the ragged batches, as queries and as keys.
  struct Sequence {
    Index index;    ///< in the batch
    Index firstRow; ///< of the queries
    Index numRows;  ///< tokens that are queries
    Index firstKeyRow, numKeys;
    Index keyBase;    ///< first key position in key panels
    Index firstBlock; ///< first entry in the block table of a cache
    /// Whether the query heads that share a key head are packed as rows of one
    /// work item (packed GQA): for a single query that reads a cache. Absent
    /// where this is never so.
    std::optional<Bool> packed;
    Index numQueries;    ///< per head: rows, or packed heads
    Index numHeads;      ///< that have work items of their own
    Index blocksPerHead; ///< blocks of queries, each a work item
    Index numKvBlocks;   ///< at least one
    Index cost;          ///< of a work item

    Index getNumItems() const { return blocksPerHead * numHeads; }
  };
  /// A block of queries of one head, and the keys `from` to `to` that at least
  /// one of them sees.
  struct WorkItem {
    const Sequence &s;
    Index head, firstQuery, numQueries, from, to;
    Index next; ///< number of the item after it in the sequence
    Index firstKvBlock = {}, lastKvBlock = {}; ///< `lastKvBlock` is exclusive
  };
  /// The keys [start, end) of the KV block that begins at key `base`. The
  /// difference of start and base is a multiple of a panel.
  struct KvBlock {
    Index base, start, end;
    Value keys, values;                     ///< of the keys from `base` on
    Value keyScales = {}, valueScales = {}; ///< if the format has scales
    Value nextKeys, nextValues;             ///< read afterwards; to prefetch
    Value scores; ///< [queries][score stride] of the keys from `base` on
    Value maxima; ///< [queries][16]
    Value packedValues = {}; ///< for AMX: [dv / 32][256 / 2][32][2]
  };
  /// Where the state of a softmax over some KV blocks is.
  struct SoftmaxState {
    Value output;  ///< [queries][value stride], not yet divided by the sum
    Value maximum; ///< [queries]
    Value sum;     ///< [queries]
  };

  // Operands (AttentionOperands.cpp).
  Sequence loadSequence(Index i, Index blockRows);
  /// Elements from one query to the next in rows of heads of this width.
  Index queryStride(const Sequence &s, Value buffer, int64_t width);
  /// Address of a query of the item in rows of heads of this width.
  Value queryAddress(const WorkItem &item, Value buffer, int64_t width,
                     Index query);
  Value inputAddress(const WorkItem &item, Index query) {
    return queryAddress(item, op.getQuery(), dk, query);
  }
  Value outputAddress(const WorkItem &item, Index query) {
    return queryAddress(item, op.getOuts(), dv, query);
  }
  /// The head of a query of the item.
  Index queryHead(const WorkItem &item, Index query);
  /// The key head that a head of the sequence reads.
  Index keyHead(const Sequence &s, Index head);
  /// Address of the layer's data in the cache block that holds a key.
  Value cacheBlock(const Sequence &s, Index key);
  /// Address of a head's keys or values from the first key of a KV block on.
  Value keysFrom(const Sequence &s, Index head, Index key);
  Value valuesFrom(const Sequence &s, Index head, Index key);
  /// Address of the scales of a head's keys or values, which begin at `offset`
  /// of the layer's data.
  Value scalesFrom(const Sequence &s, Index head, Index key, int64_t offset);
  /// Bytes from one panel of a head's keys to the next.
  int64_t getKeyPanelBytes();
  /// Bytes of a key in a step of a key panel.
  int64_t getLaneBytes() const {
    return keyFormat.getFormat().getColumnBytes();
  }
  /// Bytes of an element of the values.
  int64_t getValueBytes() const { return valueFormat.getElementBytes(); }
  /// Whether products are computed with AMX.
  bool usesAmx() { return e.getIsa().amx && op.suitsAmx(); }
  /// True if keys and values have a scale for each head of a position.
  bool hasScales() const { return keyFormat.getFormat().hasScales(); }
  /// The position of a query of the sequence among its keys.
  Index queryPosition(const Sequence &s, Index query);
  /// The range of keys that a query of the sequence sees.
  IndexPair visibleKeys(const Sequence &s, Index query);

  // Positions by column (AttentionPositions.cpp).
  /// The keys that all queries of a range see, and those that some query sees.
  struct KeyRanges {
    Index allFrom, allTo, someFrom, someTo;
  };
  KeyRanges getKeyRanges(const Sequence &s, Index first, Index end);
  Value columnAddress(Index row);
  Index loadColumn(Index row);
  Index firstKeyFrom(const Sequence &s, Index column);
  IndexPair visibleByColumn(const Sequence &s, Index query);
  Value keyDistances(const WorkItem &item, Index query, Index key);
  /// The distances from a query to 16 keys, at most `reach` to either side, as
  /// indices of a table that begins with that of -reach.
  Value distanceIndices(const WorkItem &item, Index query, Index key,
                        int64_t reach);
  Value addRelativeBias(Value t, const WorkItem &item, Index query, Index key);
  /// Where a query finds its products with relative positions.
  struct PositionRow {
    PositionBuckets rule;
    Index query;    ///< of the item
    Index distance; ///< from the query to the sequence's first key
    /// Whether keys are next to each other. Absent where they always are.
    std::optional<Bool> withoutGaps;
    Value table; ///< of positions
    Value row;   ///< of the products of the query; null without
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
  /// Distributes items over the workers by cost. `work` gives the number and
  /// the cost of a sequence's items; `body` is given a sequence, an item of it,
  /// and the number of items of the sequences before.
  void
  distribute(llvm::function_ref<IndexPair(const Sequence &)> work,
             llvm::function_ref<void(const Sequence &, Index, Index)> body);
  /// The cost of a work item besides its queries times its keys, in the same
  /// unit. Measured: as much as 256 scores where dk = dv = 32.
  int64_t getItemCost() const { return 24576 / (dk + dv + 32); }
  /// The maximum number of queries of a work item in any call. A causal item
  /// computes scores up to the last key of its last query, so smaller ones
  /// waste less.
  int64_t getLargestBlock() {
    if (usesAmx())
      return kern::kAmxQueryBlock;
    return op.getCausal() ? kern::kQueryBlock / 2 : kern::kQueryBlock;
  }
  /// Whether a single query packs the heads that share a key head.
  bool packsHeads() { return op.getCache() && group > 1; }
  /// The maximum number of queries of a work item in this call.
  Index chooseBlockRows();
  WorkItem getWorkItem(const Sequence &s, Index index);
  /// Sets the range of KV blocks of an item.
  void setKvBlocks(WorkItem &item);
  KvBlock getKvBlock(const WorkItem &item, Index index);
  void emitItem(const Sequence &s, Index index);
  void emitFirstPass(const WorkItem &item);
  /// Computes the KV blocks of an item one after the other. `twoPass`: the
  /// scores are already there; may be absent.
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
  /// Divides the queries of an item into tiles of a product with this operand.
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

  // The product with the values (AttentionProduct.cpp).
  KernelSpec getProductSpec(bool normalizes);
  void emitProduct(const WorkItem &item, const KvBlock &block, Value target,
                   Value divisors);
  void startAmx();
  void packValues(const WorkItem &item, KvBlock &block);
  void copyValues(const KvBlock &block);
  /// Address of columns of packed values.
  Value packedColumns(const KvBlock &block, int64_t column) {
    return e.advance(block.packedValues,
                     column * kvBlockSize * getValueBytes());
  }
  void emitMerge(const WorkItem &item, const SoftmaxState &state,
                 const SoftmaxState &block, Bool isLast);
  /// Quantizes the results of an item, if there are to be whole numbers.
  void quantizeResults(const WorkItem &item);
  void emitMergeFactors(const WorkItem &item, const SoftmaxState &state,
                        const SoftmaxState &block);

  /// Address of an element of rows of `stride` f32.
  Value elementAt(Value base, Index row, int64_t stride, Index column) {
    return e.advance(base, (row * stride + column) * 4);
  }
  /// Address of a row's entry in a vector of f32.
  Value rowValueAt(Value base, Index row) { return e.advance(base, row * 4); }

  bool masksRows() { return isBounded() || changesScores(); }
  /// True when the scores of all keys are transformed after the product.
  bool changesScores() {
    return op.getMask() || op.getSlopes() || op.getRelativeBias() ||
           op.getPositionBuckets() || hasSoftCap();
  }
  bool hasSoftCap() { return op.getSoftCap().convertToDouble() != 0; }
  /// True when a query sees a range of the keys only.
  bool isBounded() { return op.getCausal() || op.getWindow(); }

  PhaseEmitter &e;
  kern::AttentionOp op;
  kern::AttentionSchedule schedule;
  int64_t heads;
  int64_t group;      ///< query heads per key head
  int64_t queryBlock; ///< rows that there is memory for
  int64_t dk, dv, valueStride, scoreStride;
  const OperandLowering &keyFormat, &valueFormat;
  Index blockRows;
  // This worker's scratch memory.
  Value scores, maxima;
  Value tileConfig; ///< for AMX; see KernelArgs
  /// For AMX: values of KV blocks, [kPackedBlocks][dv / 32][256 / 2][32][2] of
  /// bf16, and which ones they are, [kPackedBlocks] of i64.
  Value valuePanels, packedBlocks;
  SoftmaxState state, blockState;   ///< of all KV blocks so far, of one
  Value stateFactors, blockFactors; ///< [queries], of a merge
};

} // namespace transom::lower
