// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs on each head's columns. Work items are the row chunks for each head, so
// that a head's weight and a chunk's rows stay in the caches.
#include "passes/Remarks.h"
#include "passes/lower/ops/LowerOps.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Row blocks per chunk.
static constexpr int64_t kChunkBlocks = 8;

namespace {
/// Emits the GEMMs for all heads.
class HeadGemmEmitter {
public:
  HeadGemmEmitter(PhaseEmitter &e, kern::HeadGemmOp op)
      : e(e), op(op), type(op.getWeight().getType()),
        format(OperandLowering::get(type.getFormat().getStorage())),
        columns(op.getHeadColumns()), k(type.getShape()[1]) {}

  void emit() {
    reportGroupTiles(
        e, op, format,
        {int64_t(op.getHeads()), e.kernels().getMaxMr(format), columns});
    // The panels for the distances in this call.
    const PositionBuckets rule = op.getPositionBuckets();
    Index length =
        e.raggedField(op.getRagged(), offsetof(transom_ragged_batch, columns));
    Index farthest = min(length - 1, rule.getReach());
    auto loadPosition = [&](Index distance) {
      return e.loadI32(e.positionTable(rule), distance);
    };
    Index first = loadPosition(farthest);
    Index end = loadPosition(e.i64(0) - farthest) + 1;
    first = first / panelWidth * panelWidth;
    end = min(ceilDiv(end, panelWidth) * panelWidth, columns);

    // Divide the chunks of all heads among the workers.
    rows = e.numRows(op.getInput());
    Index chunks = ceilDiv(rows, kChunkBlocks * e.kernels().getMaxMr(format));
    e.forWorkerRange(chunks * int64_t(op.getHeads()), [&](Index item) {
      Index head = item / chunks, chunk = item % chunks;
      Index from = chunk * rows / chunks, to = (chunk + 1) * rows / chunks;
      emitChunk(head, {from, to - from}, {first, end});
    });
  }

private:
  /// Iterates over row blocks and then column tiles, so that result rows are
  /// written from beginning to end.
  void emitChunk(Index head, IndexPair chunk, IndexPair range) {
    KernelSpec spec;
    spec.rhs = &format;
    spec.out = &getLowering(op.getOuts());
    spec.k = k;
    spec.lhsStride = getBufferType(op.getInput()).getRowStride().constant();
    spec.rhsStride = panelWidth;
    KernelArgs args;
    args.lhsStride = e.rowStride(op.getInput());
    args.outputStride = e.rowStride(op.getOuts());
    const int64_t panelsPerHead = alignToPanel(columns) / panelWidth;
    e.forRowBlocks(chunk.second, format, [&](Index block, Index numRows) {
      Index row = chunk.first + block;
      args.lhs = e.advance(e.pointer(op.getInput()),
                           (row * args.lhsStride + head * k) * 4);
      Index outRow = head * rows + row;
      e.forLoop(range.first, range.second, e.kernels().getNr(), [&](Index at) {
        // Each head begins at a panel border.
        Index panel = head * panelsPerHead + at / panelWidth;
        args.rhs = e.advance(e.weight(op.getWeight()),
                             panel * type.getPanelBytes() +
                                 at % panelWidth *
                                     format.getFormat().getColumnBytes());
        args.columns = e.i64(columns) - at;
        args.output = e.advance(e.pointer(op.getOuts()),
                                (outRow * args.outputStride + at) * 4);
        e.kernels().call(e, spec, numRows, args);
      });
    });
  }

  PhaseEmitter &e;
  kern::HeadGemmOp op;
  kern::WeightType type;
  const OperandLowering &format; ///< the weight's lowering
  int64_t columns, k;            ///< per head
  Index rows;
};
} // namespace

static void lowerHeadGemm(PhaseEmitter &e, kern::HeadGemmOp op) {
  HeadGemmEmitter(e, op).emit();
}

void lower::addHeadGemmLowerings(Lowerings &lowerings) {
  lowerings.add<kern::HeadGemmOp, lowerHeadGemm>();
}
