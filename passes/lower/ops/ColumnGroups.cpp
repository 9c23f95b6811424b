// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The f32 result for a group that is quantized exists only on the stack: a
// chunk's rows in one group.
#include "passes/lower/ops/ColumnGroups.h"
#include "runtime/abi/RowSummary.h"
#include <limits>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Max rows per chunk, and max bytes for these rows in a group.
static constexpr int64_t kQuantizedRows = 256, kStageBytes = 512 * 1024;

/// Padding after each row, so that rows are not in the same cache sets.
static constexpr int64_t kPadding = 16;

int64_t ColumnGroups::getMaxRows(kern::GemmOp op) {
  if (!kern::isQuantized(op.getOuts()[0]))
    return std::numeric_limits<int64_t>::max();
  const QuantizedRows rows{op.getOuts()[0], op.getOutScales()};
  return std::min(kQuantizedRows, kStageBytes / (rows.getGroup() * 4));
}

ColumnGroups::ColumnGroups(PhaseEmitter &e, kern::GemmOp op, int64_t maxRows)
    : e(e), op(op) {
  const int64_t nr = e.kernels().getNr();
  if (!op.getSummary().empty())
    numTiles = summaryGroup / nr;
  if (!kern::isQuantized(op.getOuts()[0]))
    return;
  quantized = {op.getOuts()[0], op.getOutScales()};
  numTiles = quantized.getGroup() * (op.getGlu() ? 2 : 1) / nr;
  stage = e.stackBuffer(maxRows * getStagedStride() * 4);
}

int64_t ColumnGroups::getStagedStride() const {
  return quantized.getGroup() + kPadding;
}

Value ColumnGroups::getStaged(Index row, Index column) {
  return e.advance(
      stage, (row * getStagedStride() + column % quantized.getGroup()) * 4);
}

void ColumnGroups::finish(Index group, IndexPair rows) {
  if (!op.getSummary().empty())
    e.ifThen(emitIsSummaryAsked(e, op.getSummary()), [&] {
      e.forLoop(rows.first, rows.second, 1, [&](Index row) {
        emitRowSummary(e, op.getOuts()[0], op.getSummary(), row, group);
      });
    });
  if (!stage)
    return;
  // The last group may have fewer columns.
  const int64_t size = quantized.getGroup(), columns = quantized.getColumns(),
                full = columns / size;
  if (columns % size == 0)
    return quantize(group, size, rows);
  e.ifThen(group < full, [&] { quantize(group, size, rows); });
  e.ifThen(group == full, [&] { quantize(group, columns % size, rows); });
}

void ColumnGroups::quantize(Index group, int64_t columns, IndexPair rows) {
  e.forLoop(rows.first, rows.second, 1, [&](Index row) {
    Value in = e.advance(stage, (row - rows.first) * (getStagedStride() * 4));
    emitQuantizedGroup(e, quantized, row, group, columns, in);
  });
}
