// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of two activations: the right operand is read as it lies, columns
// that do not exist are masked.
#include "passes/lower/Phase.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

void lower::lowerBatchMatmul(PhaseEmitter &e, kern::BatchMatmulOp op) {
  auto lhs = PhaseEmitter::typeOf(op.getLhs()),
       rhs = PhaseEmitter::typeOf(op.getRhs()),
       out = PhaseEmitter::typeOf(op.getOuts());
  SmallVector<Polynomial> dims = out.getDims(), lhsDims = lhs.getDims(),
                          rhsDims = rhs.getDims();
  Value m = e.size(dims[dims.size() - 2]), n = e.size(dims.back()),
        k = e.size(lhsDims.back());
  Value matrices = e.size(Polynomial(1));
  for (const Polynomial &dim : ArrayRef(dims).drop_back(2))
    matrices = e.mul(matrices, e.size(dim));
  int64_t width = e.kernels().tileColumns();
  Value tilesAcross = e.ceilDiv(n, width);
  RowBlocks blocks(e, e.i64(0), m, e.kernels().maxRows());

  KernelSpec spec;
  spec.k = lhsDims.back().constant();
  spec.lhsStride = lhs.getRowStride().constant();
  spec.rhsStride = rhs.getRowStride().constant();
  spec.partialRhs = true;

  // Offsets of whole matrices: the dims without the last are those of an
  // operand with one row a matrix.
  auto matrixOffset = [&](Value index, kern::BufferType type,
                          ArrayRef<Polynomial> own) {
    Polynomial matrix = own[own.size() - 2] * type.getRowStride();
    return emitBroadcastOffset(e, index, ArrayRef(dims).drop_back(),
                               own.drop_back(), matrix);
  };
  Value perMatrix = e.mul(tilesAcross, blocks.count);
  e.shareRows(e.mul(matrices, perMatrix), [&](Value unit) {
    Value matrix = e.div(unit, perMatrix), within = e.rem(unit, perMatrix);
    Value column = e.mul(e.div(within, blocks.count), width);
    auto [row, own] = blocks.at(e.rem(within, blocks.count));
    KernelArgs args;
    args.k = k;
    args.lhsStride = e.rowStride(op.getLhs());
    args.rhsStride = e.rowStride(op.getRhs());
    args.outputStride = e.rowStride(op.getOuts());
    Value lhsOffset =
        e.add(matrixOffset(matrix, lhs, lhsDims), e.mul(row, args.lhsStride));
    Value rhsOffset = e.add(matrixOffset(matrix, rhs, rhsDims), column);
    Value outOffset =
        e.add(e.mul(e.add(e.mul(matrix, m), row), args.outputStride), column);
    args.lhs = e.advance(e.pointer(op.getLhs()), e.mul(lhsOffset, 4));
    args.rhs = e.advance(e.pointer(op.getRhs()), e.mul(rhsOffset, 4));
    args.output = e.advance(e.pointer(op.getOuts()), e.mul(outOffset, 4));
    args.columns = e.sub(n, column);
    e.ifThen(e.less(e.i64(0), own),
             [&, own = own] { e.kernels().call(e, spec, own, args); });
  });
}
