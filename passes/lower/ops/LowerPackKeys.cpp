// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs key rows into key panels, [positions/32][columns][32] in f32 and
// [positions/32][columns/2][32][2] in bf16.
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The columns of a key: unchanged, or rounded.
static Value loadKey(PhaseEmitter &e, kern::PackKeysOp op, Value line,
                     Index column, Value mask) {
  const OperandLowering &in = getLowering(op.getInput()),
                        &out = getLowering(op.getOuts());
  Value at = e.advance(line, column * in.getElementBytes());
  if (in.getFormat().element == out.getFormat().element)
    return in.loadStored(e, at, mask);
  return out.round(e, in.load(e, at, mask));
}

/// Packs one key row into panels with interleaved columns.
static void packInterleaved(PhaseEmitter &e, kern::PackKeysOp op, Index row,
                            Index position) {
  const OperandLowering &out = getLowering(op.getOuts());
  const int64_t bytes = out.getElementBytes();
  Index columns = e.numColumns(op.getInput());
  Value line = getRow(e, op.getInput(), row).pointer;
  Index panel = position / panelWidth, lane = position % panelWidth;
  Value base = e.advance(e.pointer(op.getOuts()),
                         panel * columns * (panelWidth * bytes) +
                             lane * out.getFormat().getColumnBytes());
  e.forColumns(columns, [&](Index column, Value mask) {
    Value stored = loadKey(e, op, line, column, mask);
    out.scatterColumns(e, stored,
                       e.advance(base, column * (panelWidth * bytes)), mask);
  });
}

static void lowerPackKeys(PhaseEmitter &e, kern::PackKeysOp op) {
  const OperandLowering &out = getLowering(op.getOuts());
  Index columns = e.numColumns(op.getInput());
  Index stride = e.rowStride(op.getInput());
  Value positions =
      e.raggedTable(op.getRagged(), offsetof(transom_ragged_batch, token_key));
  Index tokens =
      e.raggedField(op.getRagged(), offsetof(transom_ragged_batch, num_tokens));
  e.forWorkerRange(tokens, [&](Index row) {
    Index position = e.loadI64(e.advance(positions, row * 8));
    if (out.getFormat().interleave > 1)
      return packInterleaved(e, op, row, position);
    // Without interleaving, all addresses are multiples of the element size.
    Index panel = position / panelWidth, lane = position % panelWidth;
    Index base = panel * columns * panelWidth + lane;
    const int64_t bytes = out.getElementBytes();
    Value line = e.advance(e.pointer(op.getInput()), row * stride * bytes);
    e.forColumns(columns, [&](Index column, Value mask) {
      Value stored = loadKey(e, op, line, column, mask);
      Index to = base + column * panelWidth;
      out.scatterColumns(e, stored,
                         e.advance(e.pointer(op.getOuts()), to * bytes), mask);
    });
  });
}

void lower::addPackKeysLowerings(Lowerings &lowerings) {
  lowerings.add<kern::PackKeysOp, lowerPackKeys>();
}
