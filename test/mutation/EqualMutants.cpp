// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule inspects the changed operation and its users.
#include "test/mutation/EqualMutants.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace transom::testing {

/// Returns true if a rope is a complex multiplication: one head in halves, all
/// rotated.
template <typename OpT> static bool isComplexProduct(OpT rope) {
  return rope.getHeads() == 1 && !rope.getInterleaved() &&
         rope.getInput().getType() == rope.getRopeTable().getType();
}

/// Returns true for a matmul between a row and a weight with one column.
static bool isDotProduct(attn::LinearOp linear) {
  return linear.getInput().getType() == linear.getWeight().getType() &&
         cast<ShapedType>(linear.getWeight().getType()).getShape()[0] == 1;
}

static bool isCommutativeScalar(Operation *op) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return llvm::is_contained({F::OEQ, F::ONE, F::UNE, F::UEQ},
                              compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return llvm::is_contained({I::eq, I::ne}, compare.getPredicate());
  return isa<arith::AddFOp, arith::MulFOp, arith::AddIOp, arith::MulIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op);
}

/// The term that a scalar represents, with named arguments; operands in
/// commutative operations are sorted.
static std::string getTerm(Value value,
                           const DenseMap<Value, std::string> &names) {
  if (auto name = names.find(value); name != names.end())
    return name->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return "argument";
  std::vector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getTerm(operand, names));
  if (isCommutativeScalar(op))
    llvm::sort(operands);
  std::string term;
  llvm::raw_string_ostream stream(term);
  stream << op->getName() << op->getAttrDictionary() << "(";
  for (const std::string &operand : operands)
    stream << operand << ", ";
  stream << ")";
  return term;
}

/// Returns true for a region with two inputs that computes the same function
/// with both exchanged.
static bool isCommuted(kern::ElementwiseOp op) {
  Block &body = op.getBody().front();
  Value result = body.getTerminator()->getOperand(0);
  if (body.getNumArguments() != 2)
    return false;
  Value a = body.getArgument(0), b = body.getArgument(1);
  return getTerm(result, {{a, "a"}, {b, "b"}}) ==
         getTerm(result, {{a, "b"}, {b, "a"}});
}

bool isCommutative(Operation *op) {
  if (auto rope = dyn_cast<attn::RopeOp>(op))
    return isComplexProduct(rope);
  if (auto rope = dyn_cast<kern::RopeOp>(op))
    return isComplexProduct(rope);
  if (auto linear = dyn_cast<attn::LinearOp>(op))
    return isDotProduct(linear);
  if (auto elementwise = dyn_cast<kern::ElementwiseOp>(op))
    return isCommuted(elementwise);
  return isCommutativeScalar(op) ||
         isa<attn::AddOp, attn::MulOp, attn::AndOp, attn::OrOp>(op);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Returns true if adding a constant to all elements in a row in `scores`
/// changes nothing: they go to a softmax alone, possibly after other additions
/// or masks.
static bool isShiftedScore(Value scores) {
  return llvm::all_of(scores.getUses(), [](OpOperand &use) {
    Operation *op = use.getOwner();
    if (isa<attn::SoftmaxOp>(op))
      return true;
    if (isa<attn::ScaleOp>(op))
      return isShiftedScore(op->getResult(0));
    auto mask = dyn_cast<attn::MaskOp>(op);
    const bool keepsRows =
        (mask && mask.getValue().convertToDouble() <= -1e30) ||
        (isa<attn::AddOp>(op) &&
         op->getResult(0).getType() == use.get().getType());
    return keepsRows && use.getOperandNumber() == 0 &&
           isShiftedScore(op->getResult(0));
  });
}

/// Returns true if adding a row to all keys adds the same value to all scores
/// for a query.
static bool isKeyOfSoftmax(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<attn::ReshapeOp, attn::TransposeOp>(op))
    return llvm::all_of(op->getResult(0).getUses(), isKeyOfSoftmax);
  if (isa<attn::MatmulOp>(op))
    return use.getOperandNumber() == 1 && op->getOperand(0) != use.get() &&
           isShiftedScore(op->getResult(0));
  if (auto sdpa = dyn_cast<attn::SdpaOp>(use.getOwner()))
    return use.get() == sdpa.getKey() && use.get() != sdpa.getQuery() &&
           use.get() != sdpa.getValue() && !sdpa.getMaskValue() &&
           !sdpa.getPositionQueries() &&
           sdpa.getSoftCap().convertToDouble() == 0;
  auto attention = dyn_cast<kern::AttentionOp>(use.getOwner());
  return attention && use.get() == attention.getKey() &&
         !attention.getMaskValue() &&
         attention.getSoftCap().convertToDouble() == 0;
}

/// The same for values that a matmul adds to each result row.
static bool isKeyProduct(Operation *product) {
  if (auto linear = dyn_cast<attn::LinearOp>(product))
    return llvm::all_of(linear.getResult().getUses(), isKeyOfSoftmax);
  auto gemm = dyn_cast<kern::GemmOp>(product);
  return gemm && gemm.getOuts().size() == 1 && !gemm.getActivation() &&
         llvm::all_of(gemm.getOuts()[0].getUses(), [&](OpOperand &use) {
           return use.getOwner() == gemm || isKeyOfSoftmax(use);
         });
}

/// Returns true for a vector that is only the key bias.
static bool isKeyBias(Value vector) {
  return !vector.use_empty() &&
         llvm::all_of(vector.getUses(), [](OpOperand &use) {
           Operation *op = use.getOwner();
           auto linear = dyn_cast<attn::LinearOp>(op);
           auto gemm = dyn_cast<kern::GemmOp>(op);
           return ((linear && linear.getBias() == use.get()) ||
                   (gemm && gemm.getBias() == use.get())) &&
                  isKeyProduct(op);
         });
}

/// The same at all locations where a weight is read.
static bool isKeyBias(Operation *weight, ModuleOp module) {
  auto uses = SymbolTable::getSymbolUses(weight, module);
  if (!uses || uses->empty())
    return false;
  return llvm::all_of(*uses, [](const SymbolTable::SymbolUse &use) {
    Operation *user = use.getUser();
    return user->getNumResults() == 1 && user->getNumOperands() == 0 &&
           isKeyBias(user->getResult(0));
  });
}

std::string getEquality(ModuleOp mutant, const Planted &planted) {
  Operation *op = planted.op;
  StringRef what = planted.what;
  if (!op)
    return {};
  const bool addsToScores = isa<attn::ScaleOp>(op) &&
                            what.ends_with("offset") &&
                            isShiftedScore(op->getResult(0));
  const bool addsToKeys =
      isa<attn::WeightOp, kern::WeightOp>(op)
          ? isKeyBias(op, mutant)
          : (what.ends_with("without bias") && isKeyProduct(op));
  return addsToScores || addsToKeys ? "a shift that softmax does not see" : "";
}

} // namespace transom::testing
