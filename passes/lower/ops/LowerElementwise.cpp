// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise regions: emits the region's scalar operations on vectors with 16
// columns. Inputs are broadcast to the output shape.
#include "mlir/IR/IRMapping.h"
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/StridedCopy.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
/// An input to the region, a buffer or a weight.
struct Input {
  Value base;
  SmallVector<Polynomial> dims;
  Polynomial rowStride;
  Type element;
  bool oneColumn; ///< broadcast over the columns
};
} // namespace

static Input getInput(PhaseEmitter &e, Value value, const Polynomial &columns) {
  Input input;
  if (auto weight = dyn_cast<kern::WeightType>(value.getType())) {
    input.base = e.weight(value);
    for (int64_t dim : weight.getShape())
      input.dims.push_back(dim);
    input.element = weight.getElementType();
    input.rowStride = input.dims.empty() ? Polynomial(1) : input.dims.back();
  } else {
    kern::BufferType buffer = getBufferType(value);
    input.base = e.pointer(value);
    input.dims = buffer.getDims();
    input.element = buffer.getElementType();
    input.rowStride = buffer.getRowStride();
  }
  Polynomial last = input.dims.empty() ? Polynomial(1) : input.dims.back();
  input.oneColumn = last == Polynomial(1) && columns != Polynomial(1);
  return input;
}

/// The element type in memory: a bool is a byte with 0 or 1; bf16 is loaded as
/// bits, which only conversions use.
static Type getMemoryType(CodeEmitter &e, Type element) {
  if (element.isBF16())
    return e.builder().getI16Type();
  return element.isInteger(1) ? Type(e.builder().getI8Type()) : element;
}
static int64_t getByteSize(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

static Value toMask(CodeEmitter &e, Value bytes) {
  Value zero = e.builder().create<arith::ConstantOp>(
      e.location(), e.builder().getZeroAttr(bytes.getType()));
  return e.builder().create<arith::CmpIOp>(
      e.location(), arith::CmpIPredicate::ne, bytes, zero);
}

static Value loadInput(PhaseEmitter &e, const Input &input, Index rowOffset,
                       Index column, Value mask) {
  Type memory = getMemoryType(e, input.element);
  Index offset = input.oneColumn ? rowOffset : rowOffset + column;
  Value at = e.advance(input.base, offset * getByteSize(input.element));
  Value loaded = input.oneColumn ? e.splat(e.load(memory, at))
                                 : e.loadVector(memory, at, mask);
  return input.element.isInteger(1) ? toMask(e, loaded) : loaded;
}

/// Integer x / y. The instruction traps for y = 0, also in disabled lanes, and
/// for the minimum x divided by -1. The results are x and -x instead.
static Value emitIntegerDivision(PhaseEmitter &e, Value x, Value y) {
  OpBuilder &b = e.builder();
  auto splat = [&](int64_t value) -> Value {
    auto type = cast<VectorType>(y.getType());
    return b.create<arith::ConstantOp>(
        e.location(),
        DenseElementsAttr::get(type,
                               b.getIntegerAttr(type.getElementType(), value)));
  };
  // Divide by 1 where y is 0 or -1, and negate the quotient for -1.
  Value minus = e.cmpEq(y, splat(-1));
  Value plain =
      b.create<arith::OrIOp>(e.location(), minus, e.cmpEq(y, splat(0)));
  Value quotient =
      b.create<arith::DivSIOp>(e.location(), x, e.select(plain, splat(1), y));
  return e.select(minus, b.create<arith::SubIOp>(e.location(), splat(0), x),
                  quotient);
}

/// Emits a scalar operation from the region on vectors.
static Value emitScalar(PhaseEmitter &e, Operation &op, IRMapping &values) {
  OpBuilder &b = e.builder();
  // Operations that differ on vectors.
  if (auto apply = dyn_cast<kern::ApplyOp>(op))
    return emitActivation(e, apply.getKind(), values.lookup(apply.getInput()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto type = e.getVectorType(constant.getType());
    return b.create<arith::ConstantOp>(
        e.location(), DenseElementsAttr::get(type, constant.getValue()));
  }
  if (isa<arith::DivSIOp>(op))
    return emitIntegerDivision(e, values.lookup(op.getOperand(0)),
                               values.lookup(op.getOperand(1)));
  if (isa<arith::ExtFOp>(op))
    return e.widenBf16(values.lookup(op.getOperand(0)));
  if (isa<arith::TruncFOp>(op))
    return e.roundBf16(values.lookup(op.getOperand(0)));
  // Other operations are the same on vectors.
  OperationState state(e.location(), op.getName());
  for (Value operand : op.getOperands())
    state.addOperands(values.lookup(operand));
  state.addTypes(e.getVectorType(op.getResult(0).getType()));
  state.addAttributes(op.getAttrs());
  return b.create(state)->getResult(0);
}

static void lowerElementwise(PhaseEmitter &e, kern::ElementwiseOp op) {
  kern::BufferType out = getBufferType(op.getOuts());
  SmallVector<Polynomial> dims = out.getDims();
  if (dims.empty())
    dims.push_back(1);
  SmallVector<Input> inputs;
  for (Value value : op.getInputs())
    inputs.push_back(getInput(e, value, dims.back()));
  int64_t bytes = getByteSize(out.getElementType());
  Index stride = e.rowStride(op.getOuts());

  e.forWorkerRange(e.size(out.getRowCount()), [&](Index row) {
    SmallVector<Index> rowOffsets;
    for (const Input &input : inputs)
      rowOffsets.push_back(
          emitBroadcastOffset(e, row, dims, input.dims, input.rowStride));
    Value line = e.advance(e.pointer(op.getOuts()), row * stride * bytes);
    e.forColumns(e.size(dims.back()), [&](Index column, Value mask) {
      // Load the inputs.
      IRMapping values;
      Block &block = op.getBody().front();
      for (auto [input, offset, argument] :
           llvm::zip(inputs, rowOffsets, block.getArguments()))
        values.map(argument, loadInput(e, input, offset, column, mask));

      // Compute the region.
      for (Operation &scalar : block.without_terminator())
        values.map(scalar.getResult(0), emitScalar(e, scalar, values));

      // Store the result.
      Value result = values.lookup(block.back().getOperand(0));
      if (out.getElementType().isInteger(1))
        result = e.builder().create<arith::ExtUIOp>(
            e.location(), e.getVectorType(e.builder().getI8Type()), result);
      e.storeVector(result, e.advance(line, column * bytes), mask);
    });
  });
}

void lower::addElementwiseLowerings(Lowerings &lowerings) {
  lowerings.add<kern::ElementwiseOp, lowerElementwise>();
}
