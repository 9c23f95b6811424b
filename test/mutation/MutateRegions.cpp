// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other scalar operations in the regions of elementwise operations.
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/mutation/LiveOperations.h"
#include "test/mutation/Mutations.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace transom::testing {

/// Replaces an operation by another kind with the same operands.
template <typename OpT> static Edit replaceBy(Operation *op) {
  return {op, "another operation", [op]() -> Operation * {
            OpBuilder b(op);
            auto other = b.create<OpT>(op->getLoc(), op->getOperand(0),
                                       op->getOperand(1));
            op->getResult(0).replaceAllUsesWith(other.getResult());
            op->erase();
            return other;
          }};
}

/// Changes that replace the result by an operand.
static void replaceByOperands(Operation *op, Edits &edits) {
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType())
      edits.push_back({op, "an operand", [=]() -> Operation * {
                         op->getResult(0).replaceAllUsesWith(operand);
                         op->erase();
                         return nullptr;
                       }});
}

/// The inverse predicate if no two values are equal.
static arith::CmpFPredicate invert(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return P::UNE;
  case P::OGT:
  case P::OGE:
    return P::OLT;
  case P::OLT:
  case P::OLE:
    return P::OGT;
  default:
    return P::OEQ;
  }
}

static arith::CmpIPredicate invert(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return P::ne;
  case P::sgt:
  case P::sge:
    return P::slt;
  case P::slt:
  case P::sle:
    return P::sgt;
  default:
    return P::eq;
  }
}

template <typename OpT> static Edit invertPredicate(OpT op) {
  return {op, "inverted", [op]() mutable -> Operation * {
            op.setPredicate(invert(op.getPredicate()));
            return op;
          }};
}

void changeRegions(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  module.walk([&](kern::ElementwiseOp elementwise) {
    for (Operation &inner : elementwise.getBody().front()) {
      Operation *op = &inner;
      if (!live.contains(op) || isa<kern::YieldOp, arith::ConstantOp>(op))
        continue;
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](arith::AddFOp) {
            edits.push_back(replaceBy<arith::SubFOp>(op));
          })
          .Case([&](arith::MulFOp) {
            edits.push_back(replaceBy<arith::AddFOp>(op));
          })
          .Case<arith::SubFOp>(
              [&](auto) { edits.push_back(replaceBy<arith::AddFOp>(op)); })
          .Case<arith::DivFOp>(
              [&](auto) { edits.push_back(replaceBy<arith::MulFOp>(op)); })
          .Case([&](arith::AndIOp) {
            edits.push_back(replaceBy<arith::OrIOp>(op));
          })
          .Case([&](arith::OrIOp) {
            edits.push_back(replaceBy<arith::AndIOp>(op));
          })
          .Case<arith::CmpFOp, arith::CmpIOp>(
              [&](auto compare) { edits.push_back(invertPredicate(compare)); });
      replaceByOperands(op, edits);
    }
  });
}

} // namespace transom::testing
