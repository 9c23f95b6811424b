// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs on row groups. The tiles in each group, panel by panel, are divided
// among the workers, so that all of them share a group that has most rows.
#include "passes/Remarks.h"
#include "passes/lower/ops/ProductOperands.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
/// Emits the GEMMs for all groups.
class GroupGemmEmitter {
public:
  GroupGemmEmitter(PhaseEmitter &e, kern::GroupGemmOp op)
      : e(e), op(op), type(op.getWeight().getType()),
        operands(e, op, op.getBias()), format(operands.getFormat()),
        columns(op.getGroupColumns()) {}

  void emit() {
    reportGroupTiles(e, op, format,
                     {int64_t(type.getSplits().size()), getMaxMr(), columns});
    if (usesAmx())
      tileConfig = makeTileConfig(e);
    Value offsets = e.pointer(op.getOffsets());
    e.forRange(int64_t(type.getSplits().size()), [&](Index group) {
      Value at = e.advance(offsets, group * 8);
      Index first = e.loadI64(at);
      Index rows = e.loadI64(e.advance(at, 8)) - first;
      emitGroup(group, first, rows);
    });
    if (usesAmx())
      releaseTiles(e);
  }

private:
  /// Whether kernels multiply with AMX: only quantized values, whose sums are
  /// exact. bf16 sums are one dependency chain.
  bool usesAmx() const {
    return e.getIsa().amx && type.isGrouped() && suitsAmx(op);
  }
  /// Rows in the largest kernel.
  int64_t getMaxMr() const {
    return usesAmx() ? amxRows : e.kernels().getMaxMr(format);
  }

  /// Emits this worker's tiles in a group, numbered panel by panel.
  void emitGroup(Index group, Index first, Index rows) {
    int64_t nr = e.kernels().getNr();
    RowBlocks blocks(first, rows, getMaxMr());
    Index count = min(blocks.count, rows) * llvm::divideCeil(columns, nr);
    e.forWorkerRange(count, [&](Index tile) {
      Index column = tile / blocks.count * nr;
      auto [row, numRows] = blocks.at(tile % blocks.count);
      e.kernels().call(e, getSpec(), numRows, getArguments(group, row, column));
    });
  }

  KernelSpec getSpec() {
    KernelSpec spec = operands.getSpec(type.getShape()[1], /*isFirst=*/true);
    spec.out = &getLowering(op.getOuts());
    spec.amx = usesAmx();
    return spec;
  }

  /// The kernel arguments for a group's tile at a row and column.
  KernelArgs getArguments(Index group, Index row, Index column) {
    int64_t paddedColumns = alignToPanel(columns);
    KernelArgs args;
    args.tileConfig = tileConfig;
    operands.setRows(args, row, e.i64(0));

    // Each group begins at a panel border.
    Index panel = group * (paddedColumns / panelWidth) + column / panelWidth;
    operands.setPanel(
        args, e.advance(e.weight(op.getWeight()), panel * type.getPanelBytes()),
        column % panelWidth, e.i64(0));
    if (op.getBias())
      args.bias = e.advance(e.weight(op.getBias()),
                            (group * paddedColumns + column) * 4);
    args.columns = e.i64(columns) - column;

    kern::BufferType out = getBufferType(op.getOuts());
    args.outputStride = e.rowStride(op.getOuts());
    args.output =
        e.advance(e.pointer(op.getOuts()),
                  (row * args.outputStride + column) * out.getElementBytes());
    return args;
  }

  PhaseEmitter &e;
  kern::GroupGemmOp op;
  kern::WeightType type;
  ProductOperands operands;
  const OperandLowering &format; ///< the weight's lowering
  int64_t columns;               ///< per group
  Value tileConfig;              ///< see KernelArgs
};
} // namespace

void lower::reportWidening(PhaseEmitter &e, Operation *op,
                           const OperandLowering &format) {
  auto report = [&](RemarkId remark, bool InstructionSet::*multiplies) {
    if (e.getIsa().*multiplies)
      return; // multiplied in their storage format
    std::vector<std::string> supported;
    for (const InstructionSet &isa : getInstructionSets())
      if (isa.*multiplies)
        supported.push_back(isa.name);
    e.getModuleInfo().getRemarks().report(
        op, {remark,
             {{"isa", e.getIsa().name},
              {"supported", listTexts(std::move(supported))}}});
  };
  if (format.getFormat().getOperandType() == StorageType::BF16)
    report(RemarkId::Bf16IsWidened, &InstructionSet::dotBf16);
  else if (format.dequantizes())
    e.getModuleInfo().getRemarks().report(
        op, {RemarkId::WeightIsDequantized, {{"isa", e.getIsa().name}}});
  else if (format.getFormat().isGrouped())
    report(RemarkId::Int8IsWidened, &InstructionSet::dotInt8);
}

const OperandLowering &lower::getWeightLowering(kern::WeightProductOp op) {
  return OperandLowering::get(
      op.getWeightType().getFormat().getStorage(),
      getBufferType(op.getInputRows()).getFormat().element);
}

bool lower::suitsAmx(kern::WeightProductOp op) {
  return kern::suitsAmx(op.getWeightType()) &&
         !getWeightLowering(op).dequantizes();
}

void lower::reportGroupTiles(PhaseEmitter &e, Operation *op,
                             const OperandLowering &format,
                             const GroupTiles &tiles) {
  const MicroKernels &kernels = e.kernels();
  const int64_t computed = llvm::alignTo(tiles.columns, kernels.getNr());
  e.getModuleInfo().getRemarks().report(
      op, {RemarkId::GroupProductTiled,
           {{"isa", kernels.getIsa().name},
            {"groups", tiles.groups},
            {"rows", tiles.rows},
            {"columns", kernels.getNr()},
            {"used", tiles.columns},
            {"computed", computed},
            {"waste", 100 * (computed - tiles.columns) / computed}}});
  reportWidening(e, op, format);
}

static void lowerGroupGemm(PhaseEmitter &e, kern::GroupGemmOp op) {
  GroupGemmEmitter(e, op).emit();
}

void lower::addGroupGemmLowerings(Lowerings &lowerings) {
  lowerings.add<kern::GroupGemmOp, lowerGroupGemm>();
}
