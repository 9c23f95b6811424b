// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise operations in the attn dialect.
#include "compiler/evaluator/Evaluation.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "dialects/attn/Attn.h"

using namespace mlir;

namespace transom {

using namespace attn;

//===----------------------------------------------------------------------===//
// Functions of one element
//===----------------------------------------------------------------------===//

static Result<void> evaluateActivation(ActivationOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  for (Number &x : result.real)
    x = activate(op.getKind(), x);
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateScale(ScaleOp op, Evaluation &e) {
  Number factor = constant(op.getFactor().convertToDouble());
  Number offset = constant(op.getOffset().convertToDouble());
  Tensor result = e.tensor(op.getInput());
  for (Number &x : result.real)
    x = factor * x + offset;
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateNot(NotOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  for (int64_t &x : result.whole)
    x = !x;
  e.set(op.getResult(), std::move(result));
  return {};
}

static bool isZero(Number x) {
  return x.isReference() ? Domain::getCurrent()->compare(x, 0.0) == 0
                         : x.real() == 0;
}

/// All float types are float64 here, so a cast between them is the identity.
static Result<void> evaluateCast(CastOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  bool toFloat = isa<FloatType>(op.getTo());
  bool toBool = op.getTo().isInteger(1);
  Tensor result =
      toFloat ? Tensor::floats(input.sizes) : Tensor::integers(input.sizes);
  for (int64_t i = 0; i < input.count(); ++i) {
    if (toFloat)
      result.real[i] = input.number(i);
    else if (toBool)
      result.whole[i] = !isZero(input.number(i));
    else
      result.whole[i] =
          input.isFloat ? static_cast<int64_t>(input.real[i]) : input.whole[i];
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

//===----------------------------------------------------------------------===//
// Functions of two elements
//===----------------------------------------------------------------------===//

/// Broadcasts both operands and combines their elements; integers stay
/// integers.
template <typename OpT, typename Floats, typename Integers>
static Result<void> combine(OpT op, Evaluation &e, Floats floats,
                            Integers integers) {
  const Tensor &a = e.tensor(op.getLhs()), &b = e.tensor(op.getRhs());
  Sizes sizes = broadcastSizes(a.sizes, b.sizes);
  Tensor result = a.broadcastTo(sizes), other = b.broadcastTo(sizes);
  for (size_t i = 0; i < result.real.size(); ++i)
    result.real[i] = floats(result.real[i], other.real[i]);
  for (size_t i = 0; i < result.whole.size(); ++i)
    result.whole[i] = integers(result.whole[i], other.whole[i]);
  e.set(op.getResult(), std::move(result));
  return {};
}

/// Integers wrap around in two's complement.
static uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

static Result<void> evaluateAdd(AddOp op, Evaluation &e) {
  return combine(
      op, e, [](Number a, Number b) { return a + b; },
      [](int64_t a, int64_t b) { return bits(a) + bits(b); });
}

static Result<void> evaluateSub(SubOp op, Evaluation &e) {
  return combine(
      op, e, [](Number a, Number b) { return a - b; },
      [](int64_t a, int64_t b) { return bits(a) - bits(b); });
}

static Result<void> evaluateMul(MulOp op, Evaluation &e) {
  return combine(
      op, e, [](Number a, Number b) { return a * b; },
      [](int64_t a, int64_t b) { return bits(a) * bits(b); });
}

static Result<void> evaluateDiv(DivOp op, Evaluation &e) {
  const Tensor &divisor = e.tensor(op.getRhs());
  if (llvm::is_contained(divisor.whole, 0))
    return rejected("integer division by zero");
  if (llvm::is_contained(divisor.whole, -1))
    return combine(
        op, e, [](Number a, Number b) { return a / b; },
        [](int64_t a, int64_t b) -> int64_t {
          return b == -1 ? 0 - bits(a) : a / b;
        });
  return combine(
      op, e, [](Number a, Number b) { return a / b; },
      [](int64_t a, int64_t b) { return a / b; });
}

static Result<void> evaluateAnd(AndOp op, Evaluation &e) {
  return combine(
      op, e, [](Number, Number) { return Number(); },
      [](int64_t a, int64_t b) { return a && b; });
}

static Result<void> evaluateOr(OrOp op, Evaluation &e) {
  return combine(
      op, e, [](Number, Number) { return Number(); },
      [](int64_t a, int64_t b) { return a || b; });
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static Result<void> evaluateWhere(WhereOp op, Evaluation &e) {
  const Tensor &condition = e.tensor(op.getCondition());
  const Tensor &onTrue = e.tensor(op.getOnTrue());
  const Tensor &onFalse = e.tensor(op.getOnFalse());
  Sizes sizes = broadcastSizes(broadcastSizes(condition.sizes, onTrue.sizes),
                               onFalse.sizes);
  Tensor choice = condition.broadcastTo(sizes);
  Tensor result = onTrue.broadcastTo(sizes), other = onFalse.broadcastTo(sizes);
  for (int64_t i = 0; i < result.count(); ++i) {
    if (choice.whole[i])
      continue;
    if (result.isFloat)
      result.real[i] = other.real[i];
    else
      result.whole[i] = other.whole[i];
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateMask(MaskOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getScores());
  Tensor mask = e.tensor(op.getMask()).broadcastTo(result.sizes);
  for (int64_t i = 0; i < result.count(); ++i)
    if (!mask.whole[i])
      result.real[i] = constant(op.getValue().convertToDouble());
  e.set(op.getResult(), std::move(result));
  return {};
}

void attachElementwise(MLIRContext *context) {
  attachEvaluator<ActivationOp, evaluateActivation>(context);
  attachEvaluator<ScaleOp, evaluateScale>(context);
  attachEvaluator<NotOp, evaluateNot>(context);
  attachEvaluator<CastOp, evaluateCast>(context);
  attachEvaluator<AddOp, evaluateAdd>(context);
  attachEvaluator<SubOp, evaluateSub>(context);
  attachEvaluator<MulOp, evaluateMul>(context);
  attachEvaluator<DivOp, evaluateDiv>(context);
  attachEvaluator<AndOp, evaluateAnd>(context);
  attachEvaluator<OrOp, evaluateOr>(context);
  attachEvaluator<WhereOp, evaluateWhere>(context);
  attachEvaluator<MaskOp, evaluateMask>(context);
}

} // namespace transom
