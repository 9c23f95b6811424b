// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs rows of keys into key panels, [positions/32][columns][32] in f32 and
// [positions/32][columns/2][32][2] in bf16.
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

void lower::lowerOp(PhaseEmitter &e, kern::PackKeysOp op) {
  const OperandLowering &in = getLowering(op.getInput()),
                        &out = getLowering(op.getOuts());
  bool isStored = in.getFormat().element == out.getFormat().element;
  Index columns = e.numColumns(op.getInput());
  Value positions =
      e.raggedTable(op.getRagged(), offsetof(transom_ragged_batch, token_key));
  Index tokens =
      e.raggedField(op.getRagged(), offsetof(transom_ragged_batch, num_tokens));
  e.forWorkerRange(tokens, [&](Index row) {
    Index position = e.loadI64(e.advance(positions, row * 8));
    Row line = getRow(e, op.getInput(), row);
    e.forColumns(columns, [&](Index column, Value mask) {
      Value stored = isStored ? in.loadStored(e, line.at(column), mask)
                              : out.round(e, line.load(column, mask));
      Value to = out.getPanelAddress(e, e.pointer(op.getOuts()), columns,
                                     position, column);
      out.scatterColumns(e, stored, to, mask);
    });
  });
}
