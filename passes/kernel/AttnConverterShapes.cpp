// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts weights, constants, and operations that move elements.
#include "passes/kernel/AttnConverter.h"

using namespace mlir;
using namespace transom;

static LogicalResult convertGetWeight(attn::GetWeightOp op, AttnConverter &c) {
  c.setLowered(op.getResult(), c.b.create<kern::GetWeightOp>(
                                   op.getLoc(), getWeightType(op.getType()),
                                   op.getWeightAttr()));
  return success();
}

/// A constant as an f32 weight; a bool is 0 or 1.
static Value makeConstantWeight(attn::ConstantOp op, AttnConverter &c) {
  auto values = cast<DenseElementsAttr>(op.getValue());
  const bool isBool = values.getElementType().isInteger(1);
  std::vector<double> data;
  for (Attribute value : values.getValues<Attribute>())
    if (auto number = dyn_cast<FloatAttr>(value))
      data.push_back(number.getValueAsDouble());
    else if (const APInt integer = cast<IntegerAttr>(value).getValue(); isBool)
      data.push_back(integer.isZero() ? 0 : 1);
    else
      data.push_back(double(integer.getSExtValue()));
  return c.makeWeight(
      op.getLoc(), "constant", values.getType().getShape().vec(),
      WeightExpr::values(values.getType().getShape().vec(), data));
}

/// True for operations whose bodies contain equal elements as a scalar.
static bool isScalarForm(Operation *op) {
  auto tokenwise = dyn_cast<attn::TokenwiseOpInterface>(op);
  return tokenwise && tokenwise.isElementwise();
}

static LogicalResult convertConstant(attn::ConstantOp op, AttnConverter &c) {
  auto values = cast<DenseElementsAttr>(op.getValue());
  // Elementwise operations contain equal elements as their own scalars.
  if (values.isSplat() && llvm::all_of(op->getUsers(), isScalarForm))
    return success();
  if (!values.isSplat() && values.getElementType().isF32()) {
    c.setLowered(op.getResult(), makeConstantWeight(op, c));
    return success();
  }
  Value out = c.alloc(op.getLoc(), c.bufferType(op.getType()));
  c.setLowered(op.getResult(), out);
  if (values.isSplat()) {
    c.elementwise(
        op.getLoc(), {}, out, [&](OpBuilder &inner, ValueRange) -> Value {
          return inner.create<arith::ConstantOp>(
              op.getLoc(), cast<TypedAttr>(values.getSplatValue<Attribute>()));
        });
    return success();
  }
  // Other constants are weights, converted unless they are f32.
  Type element = values.getElementType();
  Value constant = makeConstantWeight(op, c);
  c.elementwise(
      op.getLoc(), constant, out,
      [&](OpBuilder &inner, ValueRange scalars) -> Value {
        if (element.isInteger(1)) {
          Value zero = inner.create<arith::ConstantOp>(
              op.getLoc(), inner.getF32FloatAttr(0));
          return inner.create<arith::CmpFOp>(
              op.getLoc(), arith::CmpFPredicate::UNE, scalars[0], zero);
        }
        return inner.create<arith::FPToSIOp>(op.getLoc(), element, scalars[0]);
      });
  return success();
}

static LogicalResult convertTranspose(attn::TransposeOp op, AttnConverter &c) {
  c.b.create<kern::TransposeOp>(op.getLoc(), c.buffer(op.getInput()),
                                c.outBuffer(op.getResult()),
                                op.getPermutationAttr());
  return success();
}

static LogicalResult convertReshape(attn::ReshapeOp op, AttnConverter &c) {
  c.setLowered(op.getResult(),
               c.b.create<kern::ViewOp>(op.getLoc(), c.bufferType(op.getType()),
                                        c.buffer(op.getInput())));
  return success();
}

static LogicalResult convertConcat(attn::ConcatOp op, AttnConverter &c) {
  Value out = c.outBuffer(op.getResult());
  Polynomial at;
  for (Value input : op.getInputs()) {
    Value source = c.buffer(input);
    Polynomial size =
        cast<kern::BufferType>(source.getType()).getDims()[op.getAxis()];
    c.b.create<kern::CopyOp>(op.getLoc(), source, out, op.getAxis(), "0",
                             at.str(), size.str());
    at = at + size;
  }
  return success();
}

static LogicalResult convertSlice(attn::SliceOp op, AttnConverter &c) {
  c.b.create<kern::CopyOp>(
      op.getLoc(), c.buffer(op.getInput()), c.outBuffer(op.getResult()),
      op.getAxis(), std::to_string(op.getStart()), "0", op.getSize().str());
  return success();
}

static LogicalResult convertGather(attn::GatherOp op, AttnConverter &c) {
  c.b.create<kern::GatherOp>(op.getLoc(), c.buffer(op.getTable()),
                             c.buffer(op.getIndices()),
                             c.outBuffer(op.getResult()));
  return success();
}

static LogicalResult convertEmbedding(attn::EmbeddingOp op, AttnConverter &c) {
  double scale = op.getScale().convertToDouble();
  Value ids = c.buffer(op.getIds()), table = c.getLowered(op.getTable()),
        out = c.outBuffer(op.getResult());
  if (isWeight(table)) {
    c.b.create<kern::EmbeddingOp>(op.getLoc(), ids, table, out,
                                  ArrayRef<double>{scale});
    return success();
  }
  // The graph computes the table.
  Value rows =
      scale == 1 ? out
                 : c.alloc(op.getLoc(), cast<kern::BufferType>(out.getType()));
  c.b.create<kern::GatherOp>(op.getLoc(), table, ids, rows);
  if (scale != 1)
    c.elementwise(
        op.getLoc(), rows, out, [&](OpBuilder &inner, ValueRange x) -> Value {
          Value factor = inner.create<arith::ConstantOp>(
              op.getLoc(), inner.getF32FloatAttr(scale));
          return inner.create<arith::MulFOp>(op.getLoc(), x[0], factor);
        });
  return success();
}

void transom::addShapeConversions(AttnConversions &conversions) {
  conversions.add<attn::GetWeightOp, convertGetWeight>();
  conversions.add<attn::ConstantOp, convertConstant>();
  conversions.add<attn::TransposeOp, convertTranspose>();
  conversions.add<attn::ReshapeOp, convertReshape>();
  conversions.add<attn::ConcatOp, convertConcat>();
  conversions.add<attn::SliceOp, convertSlice>();
  conversions.add<attn::GatherOp, convertGather>();
  conversions.add<attn::EmbeddingOp, convertEmbedding>();
}
