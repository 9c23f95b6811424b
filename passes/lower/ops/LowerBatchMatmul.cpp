// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls of two activations. The right operand is read in place; missing
// columns are masked.
#include "passes/Remarks.h"
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/StridedCopy.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

static void lowerBatchMatmul(PhaseEmitter &e, kern::BatchMatmulOp op) {
  // Sizes, and the kernel.
  kern::BufferType lhs = getBufferType(op.getLhs()),
                   rhs = getBufferType(op.getRhs()),
                   out = getBufferType(op.getOuts());
  SmallVector<Polynomial> dims = out.getDims(), lhsDims = lhs.getDims(),
                          rhsDims = rhs.getDims();
  Index m = e.size(dims[dims.size() - 2]), n = e.size(dims.back()),
        k = e.size(lhsDims.back());
  Index matrices = e.size(Polynomial(1));
  for (const Polynomial &dim : ArrayRef(dims).drop_back(2))
    matrices = matrices * e.size(dim);

  KernelSpec spec;
  spec.k = lhsDims.back().constant();
  spec.lhsStride = lhs.getRowStride().constant();
  spec.rhsStride = rhs.getRowStride().constant();
  spec.partialRhs = true;

  e.getModuleInfo().getRemarks().report(
      op, {RemarkId::BatchProductTiled,
           {{"isa", e.getIsa().name},
            {"lhs", lhsDims},
            {"rhs", rhsDims},
            {"rows", e.kernels().getMaxMr(*spec.rhs)},
            {"columns", e.kernels().getNr()}}});

  // The offset of a matrix, broadcast over the outer dimensions: the same as
  // for an operand with one row per matrix.
  auto emitMatrixOffset = [&](Index index, kern::BufferType type,
                              ArrayRef<Polynomial> own) {
    Polynomial matrix = own[own.size() - 2] * type.getRowStride();
    return emitBroadcastOffset(e, index, ArrayRef(dims).drop_back(),
                               own.drop_back(), matrix);
  };

  // A work item is one tile in one matrix.
  int64_t nr = e.kernels().getNr();
  Index tilesAcross = ceilDiv(n, nr);
  RowBlocks blocks(e.i64(0), m, e.kernels().getMaxMr(*spec.rhs));
  Index perMatrix = tilesAcross * blocks.count;
  e.forWorkerRange(matrices * perMatrix, [&](Index item) {
    Index matrix = item / perMatrix, within = item % perMatrix;
    Index column = within / blocks.count * nr;
    IndexPair rows = blocks.at(within % blocks.count);
    Index row = rows.first, numRows = rows.second;

    KernelArgs args;
    args.k = k;
    args.lhsStride = e.rowStride(op.getLhs());
    args.rhsStride = e.rowStride(op.getRhs());
    args.outputStride = e.rowStride(op.getOuts());
    Index lhsOffset =
        emitMatrixOffset(matrix, lhs, lhsDims) + row * args.lhsStride;
    Index rhsOffset = emitMatrixOffset(matrix, rhs, rhsDims) + column;
    Index outOffset = (matrix * m + row) * args.outputStride + column;
    args.lhs = e.advance(e.pointer(op.getLhs()), lhsOffset * 4);
    args.rhs = e.advance(e.pointer(op.getRhs()), rhsOffset * 4);
    args.output = e.advance(e.pointer(op.getOuts()), outOffset * 4);
    args.columns = n - column;
    e.ifThen(0 < numRows, [&] { e.kernels().call(e, spec, numRows, args); });
  });
}

void lower::addBatchMatmulLowerings(Lowerings &lowerings) {
  lowerings.add<kern::BatchMatmulOp, lowerBatchMatmul>();
}
