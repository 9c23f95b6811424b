// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts elementwise operations.
#include "passes/kernel/AttnConverter.h"

using namespace mlir;
using namespace transom;

//===----------------------------------------------------------------------===//
// Scalar forms, used in kern.elementwise bodies
//===----------------------------------------------------------------------===//

static Value constant(OpBuilder &b, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value));
  return b.create<arith::ConstantOp>(loc,
                                     b.getIntegerAttr(type, int64_t(value)));
}

static Value emitCast(attn::CastOp op, OpBuilder &b, ValueRange operands) {
  Location loc = op.getLoc();
  Value x = operands[0];
  Type from = x.getType(), to = op.getTo();
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    Value zero = constant(b, loc, from, 0);
    if (isa<FloatType>(from))
      return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, x, zero);
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (isa<FloatType>(to)) {
    if (from.isInteger(1))
      return b.create<arith::UIToFPOp>(loc, to, x);
    return b.create<arith::SIToFPOp>(loc, to, x);
  }
  if (isa<FloatType>(from))
    return b.create<arith::FPToSIOp>(loc, to, x);
  return b.create<arith::ExtUIOp>(loc, to, x);
}

template <typename OpT, typename FloatOp, typename IntOp>
static Value emitBinary(OpT op, OpBuilder &b, ValueRange x) {
  if (isa<FloatType>(x[0].getType()))
    return b.create<FloatOp>(op.getLoc(), x[0], x[1]);
  return b.create<IntOp>(op.getLoc(), x[0], x[1]);
}

static Value emitAnd(attn::AndOp op, OpBuilder &b, ValueRange x) {
  return b.create<arith::AndIOp>(op.getLoc(), x[0], x[1]);
}

static Value emitOr(attn::OrOp op, OpBuilder &b, ValueRange x) {
  return b.create<arith::OrIOp>(op.getLoc(), x[0], x[1]);
}

static Value emitNot(attn::NotOp op, OpBuilder &b, ValueRange x) {
  Value one = constant(b, op.getLoc(), x[0].getType(), 1);
  return b.create<arith::XOrIOp>(op.getLoc(), x[0], one);
}

static Value emitScale(attn::ScaleOp op, OpBuilder &b, ValueRange x) {
  Location loc = op.getLoc();
  Type type = x[0].getType();
  Value factor = constant(b, loc, type, op.getFactor().convertToDouble());
  Value product = b.create<arith::MulFOp>(loc, x[0], factor);
  double offset = op.getOffset().convertToDouble();
  if (offset == 0)
    return product;
  Value added = constant(b, loc, type, offset);
  return b.create<arith::AddFOp>(loc, product, added);
}

static Value emitActivation(attn::ActivationOp op, OpBuilder &b, ValueRange x) {
  return b.create<kern::ApplyOp>(op.getLoc(), x[0].getType(), op.getKind(),
                                 x[0]);
}

static Value emitWhere(attn::WhereOp op, OpBuilder &b, ValueRange x) {
  return b.create<arith::SelectOp>(op.getLoc(), x[0], x[1], x[2]);
}

static Value emitMask(attn::MaskOp op, OpBuilder &b, ValueRange x) {
  Value masked =
      constant(b, op.getLoc(), x[0].getType(), op.getValue().convertToDouble());
  return b.create<arith::SelectOp>(op.getLoc(), x[1], x[0], masked);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// The value of a constant with equal elements; null for other values.
static TypedAttr getScalar(Value value) {
  auto constant = value.getDefiningOp<attn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  return elements && elements.isSplat()
             ? cast<TypedAttr>(elements.getSplatValue<Attribute>())
             : TypedAttr();
}

/// Converts an elementwise operation; `emit` emits its scalar form.
template <typename OpT, Value (*emit)(OpT, OpBuilder &, ValueRange)>
static LogicalResult convertElementwise(OpT op, AttnConverter &c) {
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    if (!getScalar(operand))
      inputs.push_back(c.getLowered(operand));
  c.elementwise(op.getLoc(), inputs, c.outBuffer(op.getResult()),
                [&](OpBuilder &inner, ValueRange scalars) {
                  SmallVector<Value> all;
                  size_t next = 0;
                  for (Value operand : op->getOperands())
                    if (TypedAttr scalar = getScalar(operand))
                      all.push_back(
                          inner.create<arith::ConstantOp>(op.getLoc(), scalar));
                    else
                      all.push_back(scalars[next++]);
                  return emit(op, inner, all);
                });
  return success();
}

template <typename OpT, Value (*emit)(OpT, OpBuilder &, ValueRange)>
static void addScalar(AttnConversions &conversions) {
  conversions.add<OpT, convertElementwise<OpT, emit>>();
}

/// The same for binary arithmetic.
template <typename OpT, typename FloatOp, typename IntOp>
static void addBinary(AttnConversions &conversions) {
  addScalar<OpT, emitBinary<OpT, FloatOp, IntOp>>(conversions);
}

void transom::addElementwiseConversions(AttnConversions &conversions) {
  addBinary<attn::AddOp, arith::AddFOp, arith::AddIOp>(conversions);
  addBinary<attn::SubOp, arith::SubFOp, arith::SubIOp>(conversions);
  addBinary<attn::MulOp, arith::MulFOp, arith::MulIOp>(conversions);
  addBinary<attn::DivOp, arith::DivFOp, arith::DivSIOp>(conversions);
  addScalar<attn::AndOp, emitAnd>(conversions);
  addScalar<attn::OrOp, emitOr>(conversions);
  addScalar<attn::NotOp, emitNot>(conversions);
  addScalar<attn::CastOp, emitCast>(conversions);
  addScalar<attn::ScaleOp, emitScale>(conversions);
  addScalar<attn::ActivationOp, emitActivation>(conversions);
  addScalar<attn::WhereOp, emitWhere>(conversions);
  addScalar<attn::MaskOp, emitMask>(conversions);
}
