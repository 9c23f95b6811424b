// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a micro-kernel that writes key panels, [positions/32][columns][32]
// words of four bytes: a word is a column in f32, a pair of columns in bf16.
// Registers of 512 bits are transposed and stored by runs of rows whose
// positions follow each other in a panel; narrower ones go word by word.
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom::lower;

using transom::kern::kPanel; // positions of a key panel

namespace {
class KeyStore {
public:
  KeyStore(Emitter &e, const KernelSpec &spec, int64_t rows,
           const KernelArgs &args, ArrayRef<Value> tile)
      : e(e), b(e.builder()), spec(spec), rows(rows), args(args),
        vectors(e.instructions().tileVectors) {
    for (int64_t row = 0; row < rows; ++row)
      words.push_back(wordsOf(tile.slice(row * vectors, vectors)));
    columns = e.max(e.i64(0), e.min(e.div(args.columns, e.i64(columnsOfWord())),
                                    e.i64(width())));
  }

  void emit() {
    if (e.instructions().vectorBits == 512)
      return storeTransposed();
    for (int64_t row = 0; row < rows; ++row)
      storeRow(row);
  }

private:
  int64_t columnsOfWord() const { return spec.outBf16 ? 2 : 1; }
  /// Words of a row of the tile.
  int64_t width() const { return vectors * kLanes / columnsOfWord(); }

  Value asWords(Value x) {
    int64_t bits = cast<VectorType>(x.getType()).getNumElements() *
                   cast<VectorType>(x.getType()).getElementTypeBitWidth();
    return b.create<vector::BitCastOp>(
        e.location(), VectorType::get({bits / 32}, b.getI32Type()), x);
  }

  /// A row of the tile as vectors of words.
  SmallVector<Value> wordsOf(ArrayRef<Value> row) {
    SmallVector<Value> result;
    if (!spec.outBf16) {
      for (Value x : row)
        result.push_back(asWords(x));
      return result;
    }
    if (vectors == 1)
      return {asWords(e.roundBf16(row[0]))};
    SmallVector<int64_t> both;
    for (int64_t lane = 0; lane < 2 * kLanes; ++lane)
      both.push_back(lane);
    for (int64_t v = 0; v < vectors; v += 2)
      result.push_back(asWords(b.create<vector::ShuffleOp>(
          e.location(), e.roundBf16(row[v]), e.roundBf16(row[v + 1]), both)));
    return result;
  }

  Value position(Value row) {
    return e.loadI64(e.advance(args.perRow, e.mul(row, 8)));
  }
  /// Where the first word of a position stands.
  Value target(Value position) {
    Value panel = e.div(position, e.i64(kPanel)),
          lane = e.rem(position, e.i64(kPanel));
    Value bytes = e.mul(e.mul(panel, args.outputStride), spec.outputBytes());
    return e.advance(e.advance(args.output, bytes), e.mul(lane, 4));
  }

  void storeRow(int64_t row) {
    Value first = target(position(e.i64(row)));
    for (int64_t column = 0; column < width(); ++column) {
      int64_t lanes =
          cast<VectorType>(words[row][0].getType()).getNumElements();
      e.ifThen(e.less(e.i64(column), columns), [&] {
        e.store(e.extract(words[row][column / lanes], column % lanes),
                e.advance(first, column * kPanel * 4));
      });
    }
  }

  //===--------------------------------------------------------------------===//
  // By transposition
  //===--------------------------------------------------------------------===//

  Value shuffle(Value x, Value y, ArrayRef<int64_t> lanes) {
    return b.create<vector::ShuffleOp>(e.location(), x, y, lanes);
  }
  /// Lanes `first`, `first + 1` of each group of four words, from x and y in
  /// turn: units of one word or of two.
  Value unpack(Value x, Value y, int64_t first, int64_t unit) {
    SmallVector<int64_t> lanes;
    for (int64_t group = 0; group < kLanes; group += 4)
      for (int64_t i = 0; i < 4; ++i) {
        int64_t within = first + (i / (2 * unit)) * unit + i % unit;
        lanes.push_back(group + within + (i / unit % 2 ? kLanes : 0));
      }
    return shuffle(x, y, lanes);
  }
  /// Groups `i` and `i + 2` of four words of x, then of y.
  Value groups(Value x, Value y, int64_t i) {
    SmallVector<int64_t> lanes;
    for (int64_t base : {int64_t(0), kLanes})
      for (int64_t group : {i, i + 2})
        for (int64_t word = 0; word < 4; ++word)
          lanes.push_back(base + group * 4 + word);
    return shuffle(x, y, lanes);
  }

  /// Column by column of 16 rows of 16 words.
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
    // Group g of byFour[4 i + c] holds column 4 g + c of rows 4 i to 4 i + 3.
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
    Value stage = e.stackBuffer(width() * kLanes * 4);
    Value none = b.create<arith::ConstantOp>(
        e.location(), b.getZeroAttr(e.vectorOf(b.getI32Type())));
    for (size_t v = 0; v < words[0].size(); ++v) {
      SmallVector<Value> square(kLanes, none);
      for (int64_t row = 0; row < rows; ++row)
        square[row] = words[row][v];
      for (auto [i, column] : llvm::enumerate(transpose(square)))
        e.storeVector(column, e.advance(stage, (v * kLanes + i) * kLanes * 4));
    }
    // A run of rows ends where the next position does not follow, or begins a
    // panel.
    e.forLoop(e.i64(1), e.i64(rows + 1), 1, e.i64(0),
              [&](Value row, ValueRange carried) {
                Value next = position(e.min(row, e.i64(rows - 1)));
                Value follows =
                    e.equal(next, e.add(position(e.sub(row, e.i64(1))), 1));
                Value within = e.less(e.i64(0), e.rem(next, e.i64(kPanel)));
                Value inside =
                    e.both(e.less(row, e.i64(rows)), e.both(follows, within));
                e.ifThen(e.inverse(inside),
                         [&] { storeRun(stage, carried[0], row); });
                return SmallVector<Value>{e.select(inside, carried[0], row)};
              });
  }

  /// Rows `from` to `to`, whose positions follow each other in a panel.
  void storeRun(Value stage, Value from, Value to) {
    Value active = e.both(e.laneMask(to), e.inverse(e.laneMask(from)));
    Value first =
        e.advance(target(position(from)), e.mul(e.sub(e.i64(0), from), 4));
    e.forLoop(e.i64(0), columns, 1, [&](Value column) {
      Value line = e.loadVector(b.getI32Type(),
                                e.advance(stage, e.mul(column, kLanes * 4)));
      e.storeVector(line, e.advance(first, e.mul(column, kPanel * 4)), active);
    });
  }

  Emitter &e;
  OpBuilder &b;
  const KernelSpec &spec;
  int64_t rows;
  const KernelArgs &args;
  int64_t vectors;
  SmallVector<SmallVector<Value>> words; ///< of each row of the tile
  Value columns;                         ///< words of a row that exist
};
} // namespace

void transom::lower::emitStoreKeys(Emitter &e, const KernelSpec &spec,
                                   int64_t rows, const KernelArgs &args,
                                   ArrayRef<Value> tile) {
  KeyStore(e, spec, rows, args, tile).emit();
}
