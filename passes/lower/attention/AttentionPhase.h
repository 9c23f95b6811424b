// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One attention while it is emitted: a unit is a block of query rows of one
// head, its keys come in pieces of 256. Schedules differ in what is kept and
// who does which piece; the bits of the result do not.
#pragma once
#include "passes/lower/Phase.h"

namespace transom::lower {

/// A product with log2 e turns powers of e into powers of two.
constexpr double kLog2E = 1.4426950408889634;

class AttentionPhase {
public:
  AttentionPhase(PhaseEmitter &e, kern::AttentionOp op);

  /// Emits this part's share of the work.
  void emit();

private:
  using Value = mlir::Value;

  /// One sequence as a query and as keys.
  struct Sequence {
    Value firstRow, rows, firstKeyRow, keys, keyBase, firstBlock, index;
    /// True where the heads of one key head are the lines of a unit: a single
    /// row that reads a cache; null where that is never so.
    Value joined;
    Value lines;  ///< rows of a head, or heads that are joined
    Value heads;  ///< that have lines of their own
    Value blocks; ///< of lines, each of one head a unit
    Value pieces; ///< of keys, at least one
    Value cost;   ///< of a unit
  };
  /// A block of lines of one head, and the keys that they see.
  struct Unit {
    const Sequence &s;
    Value head, first, rows, from, to;
    Value next; ///< index of the unit after it in the sequence
  };
  /// Keys of one piece: [start, end) of the sequence, of which the piece begins
  /// at `base`; start - base is a multiple of a tile's columns.
  struct Piece {
    Value base, start, end;
    Value keys, values;           ///< where those from `base` on lie
    Value keyScales, valueScales; ///< of them, where they are int8
    Value nextKeys, nextValues;   ///< what is read after it, to be prefetched
    Value scores; ///< [rows][score stride] of keys from `base` on
    Value maxima; ///< [rows][16]
  };
  /// Where numbers of the pieces so far, or of one piece, lie.
  struct Sums {
    Value product; ///< [rows][value stride]
    Value maximum; ///< [rows]
    Value total;   ///< [rows]
  };

  // Where operands lie (AttentionOperands.cpp).
  Sequence sequence(Value i, Value height);
  Value lineStride(const Sequence &s, Value buffer, int64_t width);
  Value lineAt(const Unit &u, Value buffer, int64_t width, Value row);
  Value queryLine(const Unit &u, Value row) {
    return lineAt(u, op.getQuery(), dk, row);
  }
  Value outLine(const Unit &u, Value row) {
    return lineAt(u, op.getOuts(), dv, row);
  }
  Value queryHead(const Unit &u, Value row);
  Value keyHead(const Sequence &s, Value head);
  Value blockOf(const Sequence &s, Value key);
  Value keysFrom(const Sequence &s, Value head, Value key);
  Value valuesFrom(const Sequence &s, Value head, Value key);
  Value scalesFrom(const Sequence &s, Value head, Value key, int64_t offset);
  int64_t keyPanelBytes();
  /// Bytes of a key, or pair of bf16, at one lane of a panel; of a number of a
  /// value.
  int64_t laneBytes() const { return int8 ? 1 : 4; }
  int64_t valueBytes() const { return int8 ? 1 : bf16 ? 2 : 4; }
  Value position(const Sequence &s, Value line);
  std::pair<Value, Value> visible(const Sequence &s, Value line);

  // Positions (AttentionPositions.cpp).
  /// The keys that all lines of a block see, and those that some line sees.
  struct LineRanges {
    Value allFrom, allTo, someFrom, someTo;
  };
  LineRanges lineRanges(const Sequence &s, Value first, Value end);
  Value columnAddress(Value row);
  Value columnOf(Value row);
  Value firstKeyFrom(const Sequence &s, Value column);
  std::pair<Value, Value> visibleByColumn(const Sequence &s, Value line);
  Value distances(const Unit &u, Value row, Value key);
  Value addRelativeBias(Value t, const Unit &u, Value row, Value key);

  // Sharing of work (LowerAttention.cpp).
  Value batchSize();
  void
  distribute(llvm::function_ref<std::pair<Value, Value>(const Sequence &)> work,
             llvm::function_ref<void(const Sequence &, Value, Value)> body);
  /// What a block costs besides its rows times its keys.
  int64_t blockCost() const { return 24576 / (dk + dv + 32); }
  Unit unitOf(const Sequence &s, Value index);
  Value blockHeight();
  void emitUnit(const Sequence &s, Value index);
  Piece pieceOf(const Unit &u, Value index);
  void aimPrefetch(Piece &piece, const Unit &u, Value index, Value lastPiece);
  void prefetchUnit(const Unit &u);
  void prefetchRows(Value first, Value rows, Value stride, int64_t bytes);
  void emitKeptScores(const Unit &u, Value firstPiece, Value lastPiece);
  void emitPieces(const Unit &u, Value firstPiece, Value lastPiece, Value kept);

  // Pieces over parts (AttentionSpread.cpp).
  Value spreads();
  void emitSpread();
  void emitSpreadPiece(const Unit &u, Value index, Value firstPiece,
                       Value lastPiece, Value firstSlot);
  Sums slotAt(Value index);

  // Scores and probabilities (AttentionScores.cpp).
  void emitScores(const Unit &u, const Piece &piece);
  void emitSoftmax(const Unit &u, const Piece &piece, const Sums &sums);
  void emitProbabilities(const Unit &u, const Piece &piece, Value row,
                         const Sums &sums);
  void emitMasks(const Unit &u, const Piece &piece, Value row);
  Value transform(Value t);
  Value addBias(Value t, const Unit &u, Value row, Value key);
  Value addMask(Value t, const Unit &u, Value query, Value key, Value seen);

  // The product with the values (AttentionProduct.cpp).
  void emitProduct(const Unit &u, const Piece &piece, Value target,
                   Value divisors);
  void emitMerge(const Unit &u, const Sums &sums, const Sums &piece,
                 Value last);

  Value cell(Value base, Value row, int64_t stride, Value column) {
    return e.advance(base, e.mul(e.add(e.mul(row, stride), column), 4));
  }
  Value number(Value base, Value row) { return e.advance(base, e.mul(row, 4)); }
  bool masksRows() { return bounded() || changesScores(); }
  /// Scores of all keys are gone through again.
  bool changesScores() {
    return op.getMask() || op.getSlopes() || op.getRelativeBias() || caps();
  }
  bool caps() { return op.getSoftCap().convertToDouble() != 0; }
  bool bounded() { return op.getCausal() || op.getWindow(); }

  PhaseEmitter &e;
  kern::AttentionOp op;
  kern::AttentionSchedule schedule;
  int64_t heads, group, dk, dv, valueStride, scoreStride;
  bool bf16; ///< of query, key, value and probabilities
  bool int8; ///< of keys and values in a cache
  Value height;
  Value scores, maxima; ///< of the pieces that are kept
  Sums sums, own;       ///< so far, and of this piece
  Value before, after;  ///< [rows] factors of a merge
};

} // namespace transom::lower
