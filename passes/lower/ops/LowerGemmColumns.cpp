// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs with listed columns of a packed weight. A worker copies the columns in
// a panel unless they remain from the last call, then multiplies all rows by
// the panel with the complete GEMM's kernels.
#include "passes/Remarks.h"
#include "passes/lower/ops/ProductOperands.h"
#include "passes/lower/ops/ProductSizes.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Prefetch distance within a column panel.
static constexpr int64_t kColumnsAhead = 16 * 1024;

namespace {
/// Emits the listed columns of a GEMM.
class GemmColumnsEmitter {
public:
  GemmColumnsEmitter(PhaseEmitter &e, kern::GemmOp op)
      : e(e), op(op), type(op.getWeight().getType()), k(type.getShape()[1]),
        operands(e, op, op.getBias()), format(operands.getFormat()),
        places(op.getColumnPanel()), sizes(e.kernels(), op) {}

  void emit() {
    report();
    if (sizes.usesAmx())
      tileConfig = makeTileConfig(e);
    count = e.numColumns(op.getOuts()[0]);
    e.forWorkerRange(ceilDiv(count, panelWidth), [&](Index panel) {
      Value at = e.advance(e.pointer(op.getPanels()),
                           panel * e.rowStride(op.getPanels()));
      Index first = panel * panelWidth;
      e.forRange(min(count - first, panelWidth),
                 [&](Index lane) { emitColumn(at, first, lane); });
      multiply(at, first);
    });
    if (sizes.usesAmx())
      releaseTiles(e);
  }

private:
  void report() {
    const MicroKernels &kernels = e.kernels();
    e.getModuleInfo().getRemarks().report(op, {RemarkId::ColumnsTiled,
                                               {{"isa", kernels.getIsa().name},
                                                {"rows", sizes.getMaxMr()},
                                                {"columns", kernels.getNr()},
                                                {"all", type.getShape()[0]}}});
    reportWidening(e, op, format);
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// A column in a panel.
  struct Column {
    Value panel;
    Index lane;
  };

  /// Copies a lane's column unless the lane contains it already.
  void emitColumn(Value panel, Index first, Index lane) {
    Index id =
        e.loadI64(e.advance(e.pointer(op.getColumns()), (first + lane) * 8));
    // Zero, the initial value, stands for an empty lane.
    Value held = e.advance(panel, lane * 8 + places.numbers);
    Index number = id + 1;
    e.ifThen(logicalNot(e.loadI64(held) == number), [&] {
      Value source = e.advance(e.weight(op.getWeight()),
                               id / panelWidth * type.getPanelBytes());
      copyColumn({source, id % panelWidth}, {panel, lane});
      if (op.getBias())
        copyNumber(e.advance(e.weight(op.getBias()), id * 4),
                   e.advance(panel, lane * 4 + places.bias), 4);
      e.store(number, held);
    });
  }

  /// Copies an integer with `bytes` bytes.
  void copyNumber(Value from, Value to, int64_t bytes) {
    Type word = e.builder().getIntegerType(unsigned(8 * bytes));
    e.store(e.load(word, from), to);
  }

  /// Copies a column's elements, `bytes` bytes each, in `steps` panel steps
  /// from byte `begin` on.
  void copySteps(const Column &from, const Column &to, Index begin,
                 int64_t steps, int64_t bytes) {
    Value source = e.advance(from.panel, begin + from.lane * bytes),
          target = e.advance(to.panel, begin + to.lane * bytes);
    e.forRange(steps, [&](Index step) {
      Index at = step * (panelWidth * bytes);
      copyNumber(e.advance(source, at), e.advance(target, at), bytes);
    });
  }

  void copyColumn(const Column &from, const Column &to) {
    const OperandFormat &stored = format.getFormat();
    if (!stored.isGrouped())
      return copySteps(from, to, e.i64(0),
                       stored.getPaddedDepth(k) / stored.interleave,
                       stored.getColumnBytes());
    e.forRange(k / stored.group, [&](Index group) {
      copyGroup(from, to, group * stored.group, stored.group);
    });
    if (int64_t rest = k % stored.group)
      copyGroup(from, to, e.i64(k - rest), rest);
  }

  /// Copies `size` elements from `first` on that have one scale, and the scale.
  void copyGroup(const Column &from, const Column &to, Index first,
                 int64_t size) {
    const OperandFormat &stored = format.getFormat();
    Index at = format.getDepthBytes(first);
    copySteps(from, to, at, stored.getPaddedDepth(size) / stored.interleave,
              stored.getColumnBytes());
    at = at + stored.getGroupBytes(size);
    for (std::optional<StorageType> own : {stored.scales, stored.minimums}) {
      if (!own)
        continue; // a format without offsets
      const int64_t bytes = getStorageBits(*own) / 8;
      copySteps(from, to, at, 1, bytes);
      at = at + panelWidth * bytes;
    }
  }

  //===--------------------------------------------------------------------===//
  // The multiplication
  //===--------------------------------------------------------------------===//

  /// Multiplies all rows by a panel, K block by K block.
  void multiply(Value panel, Index first) {
    const int64_t nr = e.kernels().getNr();
    RowBlocks blocks(e.i64(0), e.numRows(op.getInput()), sizes.getMaxMr());
    Index rows = e.numRows(op.getInput());
    auto emitKBlock = [&](const ProductSizes::KBlock &kBlock) {
      const KernelSpec spec = getSpec(kBlock.length, kBlock.isFirst);
      e.forRange(panelWidth / nr, [&](Index tile) {
        Index lane = tile * nr;
        e.ifThen(first + lane < count, [&] {
          e.forRange(min(blocks.count, rows), [&](Index block) {
            auto [row, numRows] = blocks.at(block);
            e.kernels().call(
                e, spec, numRows,
                getArguments(panel, first, lane, row, kBlock.from));
          });
        });
      });
    };
    sizes.forKBlocks(e, op.getOuts()[0], emitKBlock);
  }

  /// The complete GEMM's kernel.
  KernelSpec getSpec(int64_t length, bool isFirst) {
    KernelSpec spec = operands.getSpec(length, isFirst);
    spec.out = &getLowering(op.getOuts()[0]);
    spec.prefetch = true;
    spec.amx = sizes.usesAmx();
    return spec;
  }

  /// The arguments for the tile at a row and a panel lane, from `from` on along
  /// K; `first` is the panel's first column.
  KernelArgs getArguments(Value panel, Index first, Index lane, Index row,
                          Index from) {
    KernelArgs args;
    args.tileConfig = tileConfig;
    operands.setRows(args, row, from);
    operands.setPanel(args, panel, lane, from);
    if (op.getBias())
      args.bias = e.advance(panel, lane * 4 + places.bias);
    args.columns = count - (first + lane);
    Value out = op.getOuts()[0];
    args.outputStride = e.rowStride(out);
    args.output =
        e.advance(e.pointer(out), (row * args.outputStride + first + lane) * 4);

    // Prefetch both halves of each line at a distance.
    const int64_t line = format.getIterationBytes();
    args.prefetch =
        e.advance(panel, format.getDepthBytes(from) + kColumnsAhead);
    args.prefetchMore = e.advance(args.prefetch, line / 2);
    args.prefetchStride = args.prefetchMoreStride = e.i64(line);
    return args;
  }

  PhaseEmitter &e;
  kern::GemmOp op;
  kern::WeightType type;
  int64_t k;
  ProductOperands operands;
  const OperandLowering &format; ///< the weight's lowering
  kern::GemmOp::ColumnPanel places;
  ProductSizes sizes;
  Value tileConfig; ///< see KernelArgs
  Index count;      ///< column count
};
} // namespace

void lower::emitGemmColumns(PhaseEmitter &e, kern::GemmOp op) {
  GemmColumnsEmitter(e, op).emit();
}
