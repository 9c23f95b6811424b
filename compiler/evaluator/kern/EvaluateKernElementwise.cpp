// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise regions in kern.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace transom {

using namespace kern;

static bool compare(arith::CmpFPredicate predicate, Number x, Number y) {
  double a = x.real(), b = y.real();
  if (x.isReference() || y.isReference()) {
    a = Domain::getCurrent()->compare(x, y);
    b = 0;
  }
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::UNE:
    return a != b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  default:
    return false;
  }
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  default:
    return false;
  }
}

static Number getConstant(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return constant(number.getValueAsDouble());
  auto number = cast<IntegerAttr>(op.getValue());
  return static_cast<double>(number.getType().isInteger(1)
                                 ? number.getValue().getZExtValue()
                                 : number.getInt());
}

/// x / y for integers: division by zero returns x, by -1 wraps around.
static int64_t divide(int64_t x, int64_t y) {
  if (y == -1)
    return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return y == 0 ? x : x / y;
}

/// One scalar operation; nullopt for an operation that regions do not contain.
static std::optional<Number> scalar(Operation *op, ArrayRef<Number> in) {
  // Every value is a number; integer operations convert it.
  auto whole = [&](unsigned i) { return static_cast<int64_t>(in[i]); };
  auto bits = [&](unsigned i) { return static_cast<uint64_t>(whole(i)); };
  auto fromInteger = [](int64_t x) { return Number(static_cast<double>(x)); };
  using Maybe = std::optional<Number>;
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case([&](arith::ConstantOp op) { return getConstant(op); })
      .Case([&](arith::AddFOp) { return in[0] + in[1]; })
      .Case([&](arith::SubFOp) { return in[0] - in[1]; })
      .Case([&](arith::MulFOp) { return in[0] * in[1]; })
      .Case([&](arith::DivFOp) { return in[0] / in[1]; })
      .Case([&](arith::AddIOp) { return fromInteger(bits(0) + bits(1)); })
      .Case([&](arith::SubIOp) { return fromInteger(bits(0) - bits(1)); })
      .Case([&](arith::MulIOp) { return fromInteger(bits(0) * bits(1)); })
      .Case([&](arith::DivSIOp) {
        return fromInteger(divide(whole(0), whole(1)));
      })
      .Case([&](arith::AndIOp) { return fromInteger(whole(0) & whole(1)); })
      .Case([&](arith::OrIOp) { return fromInteger(whole(0) | whole(1)); })
      .Case([&](arith::XOrIOp) { return fromInteger(whole(0) ^ whole(1)); })
      .Case([&](arith::CmpFOp op) {
        return fromInteger(compare(op.getPredicate(), in[0], in[1]));
      })
      .Case([&](arith::CmpIOp op) {
        return fromInteger(compare(op.getPredicate(), whole(0), whole(1)));
      })
      .Case([&](arith::SelectOp) { return whole(0) != 0 ? in[1] : in[2]; })
      .Case<arith::ExtUIOp, arith::UIToFPOp, arith::SIToFPOp>(
          [&](auto) { return in[0]; })
      .Case([&](arith::FPToSIOp) {
        return in[0].isReference() ? fromInteger(whole(0))
                                   : Number(std::trunc(in[0].real()));
      })
      .Case([&](arith::ExtFOp) { return in[0]; })
      .Case([&](arith::TruncFOp) {
        return roundToStorage(StorageType::BF16, in[0]);
      })
      .Case([&](ApplyOp op) -> Maybe { return activate(op.getKind(), in[0]); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Runs the region on the elements at one index.
static Result<Number> runRegion(ElementwiseOp op, ArrayRef<Number> inputs) {
  llvm::DenseMap<Value, Number> values;
  Block &block = op.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), inputs))
    values[argument] = value;
  for (Operation &inner : block) {
    SmallVector<Number> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(values.lookup(operand));
    if (isa<YieldOp>(inner))
      return operands[0];
    std::optional<Number> value = scalar(&inner, operands);
    if (!value)
      return unsupported("'" + inner.getName().getStringRef().str() +
                         "' in a region is not known to the evaluator");
    values[inner.getResult(0)] = *value;
  }
  return rejected("a region without an end");
}

/// The element for an index in a broadcast buffer or weight.
static Number operandAt(Value operand, ArrayRef<int64_t> index, Evaluation &e) {
  if (isa<BufferType>(operand.getType()))
    return e.kern->read(operand, broadcastIndex(e.kern->sizes(operand), index));
  const Tensor &weight = e.tensor(operand);
  return weight.number(
      flatten(weight.sizes, broadcastIndex(weight.sizes, index)));
}

static Result<void> evaluateElementwise(ElementwiseOp op, Evaluation &e) {
  const Sizes &sizes = e.kern->sizes(op.getOuts());
  RowRange range = e.kern->share(e.kern->rows(op.getOuts()));
  int64_t number = 0, columns = e.kern->columns(op.getOuts());
  Result<void> outcome;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    int64_t row = number++ / columns;
    if (!outcome || row < range.begin || row >= range.end)
      return;
    SmallVector<Number> inputs;
    for (Value operand : op.getInputs())
      inputs.push_back(operandAt(operand, index, e));
    Result<Number> value = runRegion(op, inputs);
    if (value)
      e.kern->write(op.getOuts(), index, *value);
    else
      outcome = value.takeError();
  });
  return outcome;
}

void attachKernElementwise(MLIRContext *context) {
  attachEvaluator<ElementwiseOp, evaluateElementwise>(context);
}

} // namespace transom
