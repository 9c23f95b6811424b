// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs rows of keys into key panels, [positions/32][columns][32] in f32 and
// [positions/32][columns/2][32][2] in bf16.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/ops/LowerOps.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kPanel;

/// Stores 16 columns of a key in bf16 as eight words of a pair each, 32 words
/// apart.
static void scatterPairs(PhaseEmitter &e, Value halves, Value to, Value mask) {
  OpBuilder &b = e.builder();
  constexpr int64_t pairs = kLanes / 2;
  SmallVector<int64_t> offsets, evenLanes;
  for (int64_t i = 0; i < pairs; ++i) {
    offsets.push_back(i * kPanel * 4);
    evenLanes.push_back(2 * i);
  }
  Value words = b.create<vector::BitCastOp>(
      e.location(), VectorType::get({pairs}, b.getI32Type()), halves);
  Value lanes = mask ? mask : e.logicalNot(e.laneMask(e.i64(0)));
  Value distances =
      b.create<arith::ConstantOp>(e.location(), b.getI64VectorAttr(offsets));
  Value pointers = b.create<LLVM::GEPOp>(
      e.location(), LLVM::getFixedVectorType(e.ptrType(), pairs), b.getI8Type(),
      to, ArrayRef<LLVM::GEPArg>{distances});
  // A pair is stored when its first column exists.
  b.create<LLVM::masked_scatter>(
      e.location(), words, pointers,
      b.create<vector::ShuffleOp>(e.location(), lanes, lanes, evenLanes), 4);
}

/// Packs one row of keys in bf16 at its position.
static void packKeyBf16(PhaseEmitter &e, kern::PackKeysOp op, Index row,
                        Index position) {
  kern::BufferType type = getBufferType(op.getInput());
  int64_t bytes = type.getElementBytes();
  Index columns = e.numColumns(op.getInput());
  Value line = e.advance(e.pointer(op.getInput()),
                         row * e.rowStride(op.getInput()) * bytes);
  Index panel = position / kPanel, lane = position % kPanel;
  Value base = e.advance(e.pointer(op.getOuts()),
                         panel * columns * (kPanel * 2) + lane * 4);
  e.forColumns(columns, [&](Index column, Value mask) {
    Value at = e.advance(line, column * bytes);
    Value halves = type.isBf16()
                       ? e.loadVector(e.builder().getI16Type(), at, mask)
                       : e.roundBf16(e.loadVector(e.f32Type(), at, mask));
    scatterPairs(e, halves, e.advance(base, column * (kPanel * 2)), mask);
  });
}

void lower::lowerOp(PhaseEmitter &e, kern::PackKeysOp op) {
  Index columns = e.numColumns(op.getInput());
  Index stride = e.rowStride(op.getInput());
  Value positions =
      e.raggedTable(op.getRagged(), offsetof(transom_ragged_batch, token_key));
  Index tokens =
      e.raggedField(op.getRagged(), offsetof(transom_ragged_batch, num_tokens));
  e.forWorkerRange(tokens, [&](Index row) {
    Index position = e.loadI64(e.advance(positions, row * 8));
    if (getBufferType(op.getOuts()).isBf16())
      return packKeyBf16(e, op, row, position);
    Index panel = position / kPanel, lane = position % kPanel;
    Index base = panel * columns * kPanel + lane;
    Value line = e.advance(e.pointer(op.getInput()), row * stride * 4);
    e.forColumns(columns, [&](Index column, Value mask) {
      Value x = e.loadVector(e.f32Type(), e.advance(line, column * 4), mask);
      Index to = base + column * kPanel;
      e.scatter(x, e.advance(e.pointer(op.getOuts()), to * 4),
                e.i64(kPanel * 4), mask);
    });
  });
}
