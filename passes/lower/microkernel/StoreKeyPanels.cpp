// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a micro-kernel that writes key panels,
// [positions/32][columns][32] words with four bytes: a word is a column in f32,
// a column pair in bf16. 512-bit registers are transposed and stored in row
// runs with consecutive positions; narrower registers are stored word by word.
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom::lower;

using transom::panelWidth; // positions in a key panel

namespace {
class KeyPanelStore {
public:
  KeyPanelStore(CodeEmitter &e, const KernelSpec &spec, Index rows,
                const KernelArgs &args, ArrayRef<Value> tile, Value stage)
      : e(e), b(e.builder()), spec(spec), rows(rows), args(args), stage(stage),
        vectors(e.getIsa().tileVectors),
        mr(static_cast<int64_t>(tile.size()) / vectors) {
    for (int64_t row = 0; row < mr; ++row)
      words.push_back(getWords(tile.slice(row * vectors, vectors)));
    columns =
        max(e.i64(0), min(args.columns / getColumnsPerWord(), getWidth()));
  }

  void emit() {
    if (e.getIsa().vectorBits == 512)
      return storeTransposed();
    for (int64_t row = 0; row < mr; ++row)
      storeRow(row);
  }

private:
  int64_t getColumnsPerWord() const { return spec.out->getFormat().interleave; }
  /// Words per tile row.
  int64_t getWidth() const { return vectors * kLanes / getColumnsPerWord(); }

  Value asWords(Value x) {
    int64_t bits = cast<VectorType>(x.getType()).getNumElements() *
                   cast<VectorType>(x.getType()).getElementTypeBitWidth();
    return b.create<vector::BitCastOp>(
        e.location(), VectorType::get({bits / 32}, b.getI32Type()), x);
  }

  /// Converts a tile row to word vectors.
  SmallVector<Value> getWords(ArrayRef<Value> row) {
    SmallVector<Value> result;
    if (getColumnsPerWord() == 1 || vectors == 1) {
      for (Value x : row)
        result.push_back(asWords(spec.out->round(e, x)));
      return result;
    }
    // Join two vectors with 16 halves each.
    SmallVector<int64_t> joined;
    for (int64_t lane = 0; lane < 2 * kLanes; ++lane)
      joined.push_back(lane);
    for (int64_t v = 0; v < vectors; v += 2)
      result.push_back(asWords(
          b.create<vector::ShuffleOp>(e.location(), spec.out->round(e, row[v]),
                                      spec.out->round(e, row[v + 1]), joined)));
    return result;
  }

  Index getPosition(Index row) {
    return e.loadI64(e.advance(args.perRow, row * 8));
  }
  /// Address of a position's first word.
  Value getTarget(Index position) {
    Index panel = position / panelWidth, lane = position % panelWidth;
    Index bytes = panel * args.outputStride * spec.getOutputBytes();
    return e.advance(e.advance(args.output, bytes), lane * 4);
  }

  void storeRow(int64_t row) {
    Value first = getTarget(getPosition(e.i64(row)));
    for (int64_t column = 0; column < getWidth(); ++column) {
      int64_t lanes =
          cast<VectorType>(words[row][0].getType()).getNumElements();
      e.ifThen(column < columns, [&] {
        e.store(e.extract(words[row][column / lanes], column % lanes),
                e.advance(first, column * panelWidth * 4));
      });
    }
  }

  //===--------------------------------------------------------------------===//
  // By transposition
  //===--------------------------------------------------------------------===//

  Value shuffle(Value x, Value y, ArrayRef<int64_t> lanes) {
    return b.create<vector::ShuffleOp>(e.location(), x, y, lanes);
  }
  /// Lanes `first`, `first + 1` in each four-word group, alternating between x
  /// and y in one-word or two-word units.
  Value unpack(Value x, Value y, int64_t first, int64_t unit) {
    SmallVector<int64_t> lanes;
    for (int64_t group = 0; group < kLanes; group += 4)
      for (int64_t i = 0; i < 4; ++i) {
        int64_t within = first + (i / (2 * unit)) * unit + i % unit;
        lanes.push_back(group + within + (i / unit % 2 ? kLanes : 0));
      }
    return shuffle(x, y, lanes);
  }
  /// Four-word groups `i` and `i + 2` from x, then from y.
  Value groups(Value x, Value y, int64_t i) {
    SmallVector<int64_t> lanes;
    for (int64_t base : {int64_t(0), kLanes})
      for (int64_t group : {i, i + 2})
        for (int64_t word = 0; word < 4; ++word)
          lanes.push_back(base + group * 4 + word);
    return shuffle(x, y, lanes);
  }

  /// Transposes 16 rows with 16 words each.
  SmallVector<Value> transpose(ArrayRef<Value> rows) {
    SmallVector<Value> byTwo(kLanes), byFour(kLanes), result(kLanes);
    for (int64_t i = 0; i < kLanes; i += 2)
      for (int64_t half = 0; half < 2; ++half)
        byTwo[i + half] = unpack(rows[i], rows[i + 1], 2 * half, 1);
    for (int64_t i = 0; i < kLanes; i += 4)
      for (int64_t column = 0; column < 4; ++column)
        byFour[i + column] =
            unpack(byTwo[i + column / 2], byTwo[i + 2 + column / 2],
                   column % 2 * 2, 2);
    // Group g in byFour[4 i + c] contains column 4 g + c for rows 4 i to 4 i +
    // 3.
    for (int64_t column = 0; column < 4; ++column)
      for (int64_t odd = 0; odd < 2; ++odd) {
        Value upper = groups(byFour[column], byFour[4 + column], odd);
        Value lower = groups(byFour[8 + column], byFour[12 + column], odd);
        result[4 * odd + column] = groups(upper, lower, 0);
        result[4 * (odd + 2) + column] = groups(upper, lower, 1);
      }
    return result;
  }

  void storeTransposed() {
    Value none = b.create<arith::ConstantOp>(
        e.location(), b.getZeroAttr(e.getVectorType(b.getI32Type())));
    for (size_t v = 0; v < words[0].size(); ++v) {
      SmallVector<Value> square(kLanes, none);
      for (int64_t row = 0; row < mr; ++row)
        square[row] = words[row][v];
      for (auto [i, column] : llvm::enumerate(transpose(square)))
        e.storeVector(column, e.advance(stage, (v * kLanes + i) * kLanes * 4));
    }
    // A run of rows ends if the next position is not consecutive or starts a
    // panel.
    e.foldRange(e.i64(1), rows + 1, e.i64(0), [&](Index row, Index start) {
      Index next = getPosition(min(row, rows - 1));
      Bool consecutive = next == getPosition(row - 1) + 1;
      Bool samePanel = 0 < next % panelWidth;
      Bool continues =
          logicalAnd(row < rows, logicalAnd(consecutive, samePanel));
      e.ifThen(logicalNot(continues), [&] { storeRun(start, row); });
      return select(continues, start, row);
    });
  }

  /// Stores rows `from` to `to`, whose positions are consecutive and in one
  /// panel.
  void storeRun(Index from, Index to) {
    Value mask = e.logicalAnd(e.laneMask(to), e.logicalNot(e.laneMask(from)));
    Value first = e.advance(getTarget(getPosition(from)), (0 - from) * 4);
    e.forRange(columns, [&](Index column) {
      Value line =
          e.loadVector(b.getI32Type(), e.advance(stage, column * (kLanes * 4)));
      e.storeVector(line, e.advance(first, column * (panelWidth * 4)), mask);
    });
  }

  CodeEmitter &e;
  OpBuilder &b;
  const KernelSpec &spec;
  Index rows; ///< rows to store
  const KernelArgs &args;
  Value stage;                           ///< transposed tile
  int64_t vectors, mr;                   ///< vectors and rows in the tile
  SmallVector<SmallVector<Value>> words; ///< for each tile row
  Index columns;                         ///< existing words per row
};
} // namespace

void transom::lower::emitStoreKeyPanels(CodeEmitter &e, const KernelSpec &spec,
                                        Index rows, const KernelArgs &args,
                                        ArrayRef<Value> tile, Value stage) {
  KeyPanelStore(e, spec, rows, args, tile, stage).emit();
}
