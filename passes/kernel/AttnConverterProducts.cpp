// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts GEMMs, softmax and norms.
#include "passes/kernel/AttnConverter.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace transom;

/// Transposes the last two dimensions.
static Value transposeLast(AttnConverter &c, Location loc, Value buffer) {
  auto type = cast<kern::BufferType>(buffer.getType());
  SmallVector<Polynomial> dims = type.getDims();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  std::swap(permutation[dims.size() - 1], permutation[dims.size() - 2]);
  Value out = c.alloc(loc, kern::BufferType::get(c.b.getContext(), dims,
                                                 type.getElementType()));
  c.b.create<kern::TransposeOp>(loc, buffer, out,
                                c.b.getDenseI64ArrayAttr(permutation));
  return out;
}

static LogicalResult convertLinear(attn::LinearOp op, AttnConverter &c) {
  Value input = c.buffer(op.getInput());
  if (!isWeight(c.getLowered(op.getWeight())) ||
      (op.getBias() && !isWeight(c.getLowered(op.getBias())))) {
    if (op.getColumns())
      return op.emitOpError(
          "expects columns of a weight, not of an activation");
    // The graph computes the weight: a matmul of two activations.
    Value out = c.outBuffer(op.getResult());
    Value product =
        op.getBias()
            ? c.alloc(op.getLoc(), cast<kern::BufferType>(out.getType()))
            : out;
    c.b.create<kern::BatchMatmulOp>(
        op.getLoc(), input,
        transposeLast(c, op.getLoc(), c.buffer(op.getWeight())), product);
    if (op.getBias())
      c.elementwise(op.getLoc(), {product, c.getLowered(op.getBias())}, out,
                    [&](OpBuilder &inner, ValueRange x) -> Value {
                      return inner.create<arith::AddFOp>(op.getLoc(), x[0],
                                                         x[1]);
                    });
    return success();
  }
  // A GEMM with a constant weight.
  Value bias = op.getBias() ? c.getLowered(op.getBias()) : Value();
  auto product =
      c.b.create<kern::GemmOp>(op.getLoc(), input, c.getLowered(op.getWeight()),
                               bias, c.outBuffer(op.getResult()));
  if (op.getColumns())
    product.getColumnsMutable().assign(c.buffer(op.getColumns()));
  return success();
}

static LogicalResult convertMatmul(attn::MatmulOp op, AttnConverter &c) {
  Value lhs = c.buffer(op.getLhs()), rhs = c.buffer(op.getRhs());
  if (op.getTransposeLhs())
    lhs = transposeLast(c, op.getLoc(), lhs);
  if (op.getTransposeRhs())
    rhs = transposeLast(c, op.getLoc(), rhs);
  c.b.create<kern::BatchMatmulOp>(op.getLoc(), lhs, rhs,
                                  c.outBuffer(op.getResult()));
  return success();
}

static LogicalResult convertSoftmax(attn::SoftmaxOp op, AttnConverter &c) {
  c.b.create<kern::SoftmaxOp>(op.getLoc(), c.buffer(op.getInput()),
                              c.outBuffer(op.getResult()));
  return success();
}

static LogicalResult convertRowSummary(attn::RowSummaryOp op,
                                       AttnConverter &c) {
  Value input = c.buffer(op.getInput());
  SmallVector<Value> outs = {c.outBuffer(op.getMaxima()),
                             c.outBuffer(op.getSums())};
  c.b.create<kern::RowSummaryOp>(op.getLoc(), input, outs);
  return success();
}

/// A norm on rows; `beta` may be null.
static LogicalResult convertNorm(Operation *op, Value beta, FloatAttr eps,
                                 UnitAttr rms, AttnConverter &c) {
  Value gamma = c.getLowered(op->getOperand(1));
  if (beta)
    beta = c.getLowered(beta);
  if (!isWeight(gamma) || (beta && !isWeight(beta)))
    return op->emitOpError("expects gamma and beta to be weights");
  c.b.create<kern::NormOp>(op->getLoc(), c.buffer(op->getOperand(0)), gamma,
                           beta, c.outBuffer(op->getResult(0)), Value(),
                           Value(), eps, rms);
  return success();
}

static LogicalResult convertLayerNorm(attn::LayerNormOp op, AttnConverter &c) {
  return convertNorm(op, op.getBeta(), op.getEpsAttr(), UnitAttr(), c);
}

static LogicalResult convertRmsNorm(attn::RmsNormOp op, AttnConverter &c) {
  return convertNorm(op, Value(), op.getEpsAttr(), c.b.getUnitAttr(), c);
}

void transom::addProductConversions(AttnConversions &conversions) {
  conversions.add<attn::LinearOp, convertLinear>();
  conversions.add<attn::MatmulOp, convertMatmul>();
  conversions.add<attn::SoftmaxOp, convertSoftmax>();
  conversions.add<attn::RowSummaryOp, convertRowSummary>();
  conversions.add<attn::LayerNormOp, convertLayerNorm>();
  conversions.add<attn::RmsNormOp, convertRmsNorm>();
}
