// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row scales are in pairs for each group, and panel scales follow each group's
// elements, so both begin where a group does.
#include "passes/lower/ops/ProductOperands.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

ProductOperands::ProductOperands(PhaseEmitter &e, kern::WeightProductOp op,
                                 Value bias)
    : e(e), input(op.getInputRows()), bias(bias),
      format(getWeightLowering(op)) {
  if (!op.getInputScalesMutable().empty())
    scales = op.getInputScalesMutable().begin()->get();
}

KernelSpec ProductOperands::getSpec(int64_t length, bool isFirst) const {
  KernelSpec spec;
  spec.rhs = &format;
  spec.k = length;
  spec.lhsStride = getBufferType(input).getRowStride().constant();
  spec.rhsStride = panelWidth;
  if (scales)
    spec.lhsScaleStride = getBufferType(scales).getRowStride().constant();
  if (!isFirst)
    spec.init = KernelSpec::AccumulatorInit::Output;
  else if (bias)
    spec.init = KernelSpec::AccumulatorInit::Bias;
  return spec;
}

void ProductOperands::setRows(KernelArgs &args, Index row, Index from) const {
  args.lhsStride = e.rowStride(input);
  args.lhs = e.advance(e.pointer(input), (row * args.lhsStride + from) *
                                             format.getLhs().getElementBytes());
  if (scales)
    args.lhsScales = e.advance(
        e.pointer(scales),
        (row * e.rowStride(scales) + from / format.getFormat().group * 2) * 4);
}

void ProductOperands::setPanel(KernelArgs &args, Value panel, Index lane,
                               Index from) const {
  const OperandFormat &stored = format.getFormat();
  Value depth = e.advance(panel, format.getDepthBytes(from));
  args.rhs = e.advance(depth, lane * stored.getColumnBytes());
  if (stored.isGrouped())
    args.rhsScales = e.advance(depth, lane * stored.getScaleBytes());
}
