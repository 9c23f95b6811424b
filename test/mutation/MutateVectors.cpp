// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values in registers: the epilogue order, exchanged registers and lanes,
// polynomial constants, and rounded products.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "test/mutation/CodeMutations.h"

using namespace mlir;

namespace transom::testing {

static bool hasFloats(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Returns true for a function that rounds to bf16, which hides most other
/// roundings.
static bool hasNarrowResults(LLVM::LLVMFuncOp function) {
  bool isNarrow = false;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      const Type element = getElementTypeOrSelf(type);
      isNarrow |= isa<VectorType>(type) &&
                  (element.isBF16() ||
                   (isa<arith::TruncIOp>(op) && element.isInteger(16)));
    }
  });
  return isNarrow;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// An operation on an element and another operand, possibly before or after one
/// with another kind.
static bool isStep(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp>(op);
}

/// The operand in `op` that equals `value`, if exactly one does.
static std::optional<unsigned> findOperand(Operation *op, Value value) {
  std::optional<unsigned> found;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == value) {
      if (found)
        return std::nullopt;
      found = operand.getOperandNumber();
    }
  return found;
}

/// Returns true for an operation with a norm's epsilon; bf16 cannot tell it
/// from a smaller one.
static bool hasHiddenEpsilon(Operation *op) {
  FloatAttr number;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return matchPattern(operand, m_Constant(&number)) &&
           std::fabs(number.getValueAsDouble()) < 1e-3 &&
           hasNarrowResults(op->getParentOfType<LLVM::LLVMFuncOp>());
  });
}

/// `second(first(x))` becomes `first(second(x))`.
static void addExchange(Operation *first, Edits &edits) {
  if (!isStep(first) || !first->getResult(0).hasOneUse())
    return;
  OpOperand &use = *first->getResult(0).use_begin();
  Operation *second = use.getOwner();
  if (!isStep(second) || first->getName() == second->getName() ||
      first->getBlock() != second->getBlock() ||
      !findOperand(second, first->getResult(0)) || hasHiddenEpsilon(first) ||
      hasHiddenEpsilon(second))
    return;
  const unsigned at = use.getOperandNumber();
  edits.push_back({second, "exchanged with the operation before", [=] {
                     OpBuilder b(second->getContext());
                     b.setInsertionPointAfter(second);
                     Operation *inner = b.clone(*second);
                     Operation *outer = b.clone(*first);
                     inner->setOperand(at, first->getOperand(0));
                     second->getResult(0).replaceAllUsesWith(
                         outer->getResult(0));
                     outer->setOperand(0, inner->getResult(0));
                     return outer;
                   }});
}

/// GEMM accumulators that start with the bias get it at the end.
static void addLateBias(scf::ForOp loop, const LiveCode &live, Edits &edits) {
  for (unsigned i = 0; i != loop.getInitArgs().size(); ++i) {
    Value init = loop.getInitArgs()[i];
    auto sum = loop.getYieldedValues()[i].getDefiningOp<LLVM::FMAOp>();
    if (!sum || !isa<VectorType>(init.getType()) || !hasFloats(init) ||
        !live.isUsed(loop.getRegionIterArgs()[i]) ||
        matchPattern(init, m_Constant()))
      continue;
    edits.push_back({loop, "the bias at the end", [=]() mutable {
                       OpBuilder b(loop);
                       Value zero = b.create<arith::ConstantOp>(
                           loop.getLoc(), b.getZeroAttr(init.getType()));
                       loop.getInitsMutable()[i].set(zero);
                       b.setInsertionPointAfter(loop);
                       auto late = b.create<arith::AddFOp>(
                           loop.getLoc(), loop.getResult(i), init);
                       loop.getResult(i).replaceAllUsesExcept(late, {late});
                       return loop;
                     }});
  }
}

void changeEpilogues(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](Operation *op) {
    if (live.contains(op))
      addExchange(op, edits);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      addLateBias(loop, live, edits);
  });
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Exchanges operands between two operations.
static void addExchange(OpOperand &a, OpOperand &b, const char *what,
                        Edits &edits) {
  if (a.get() == b.get() || a.get().getType() != b.get().getType())
    return;
  OpOperand *first = &a, *second = &b;
  edits.push_back({a.getOwner(), what, [=]() mutable {
                     Value x = first->get(), y = second->get();
                     first->set(y);
                     second->set(x);
                     return first->getOwner();
                   }});
}

/// Returns true if both values are available before an operation.
static bool isDefinedBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() ||
         definition->isBeforeInBlock(op);
}

/// Adjacent stores and multiply-adds in a block.
static void addNeighbours(Block &block, const LiveCode &live, Edits &edits) {
  Operation *store = nullptr, *fma = nullptr;
  for (Operation &op : block) {
    if (!live.contains(&op))
      continue;
    if (isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(op) &&
        isa<VectorType>(op.getOperand(0).getType())) {
      if (store && isDefinedBefore(op.getOperand(0), store))
        addExchange(store->getOpOperand(0), op.getOpOperand(0),
                    "the register of the next row", edits);
      store = &op;
    }
    if (isa<LLVM::FMAOp>(op)) {
      if (fma && fma->getOperand(1) == op.getOperand(1) &&
          fma->getOperand(0) != op.getOperand(0)) {
        Operation *previous = fma, *own = &op;
        edits.push_back({own, "the factor of the row before", [=]() mutable {
                           own->setOperand(0, previous->getOperand(0));
                           return own;
                         }});
      }
      fma = &op;
    }
  }
}

void exchangeRegisters(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](Block *block) { addNeighbours(*block, live, edits); });
  code.walk([&](scf::YieldOp yield) {
    auto loop = dyn_cast<scf::ForOp>(yield->getParentOp());
    for (unsigned i = 1; loop && i < yield->getNumOperands(); ++i)
      if (live.isUsed(loop.getRegionIterArgs()[i]) &&
          live.isUsed(loop.getRegionIterArgs()[i - 1]))
        addExchange(yield->getOpOperand(i - 1), yield->getOpOperand(i),
                    "the accumulator of the next row", edits);
  });
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The factor for a constant: polynomial constants hardly change, an epsilon
/// becomes a value that bf16 can tell.
static double getFactor(Operation *op, double value) {
  if (isa<LLVM::FMAOp>(op))
    return 1 + 1.0 / 512;
  return std::fabs(value) < 1e-3 ? 4096 : 1.25;
}

/// Constants that are multiplied or added.
void changeNumbersOfCode(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](Operation *op) {
    if (!live.contains(op) || !isa<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                                   arith::DivFOp, LLVM::FMAOp>(op))
      return;
    // Only scalars and splats have a single value to change.
    for (OpOperand &operand : op->getOpOperands()) {
      TypedAttr constant;
      double value = 0;
      if (!matchPattern(operand.get(), m_Constant(&constant)))
        continue;
      if (auto scalar = dyn_cast<FloatAttr>(constant))
        value = scalar.getValueAsDouble();
      else if (auto splat = dyn_cast<SplatElementsAttr>(constant))
        value = splat.getSplatValue<APFloat>().convertToDouble();
      if (value == 0 || !std::isfinite(value))
        continue;
      // The new constant has the operand's type.
      const unsigned index = operand.getOperandNumber();
      edits.push_back(
          {op, "another constant", [=]() mutable {
             OpBuilder b(op);
             Type type = op->getOperand(index).getType();
             auto number = b.getFloatAttr(getElementTypeOrSelf(type),
                                          value * getFactor(op, value));
             TypedAttr changed = number;
             if (auto vector = dyn_cast<VectorType>(type))
               changed = DenseElementsAttr::get(vector, number);
             op->setOperand(index,
                            b.create<arith::ConstantOp>(op->getLoc(), changed));
             return op;
           }});
    }
  });
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

void changeLanes(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](vector::ShuffleOp shuffle) {
    if (live.contains(shuffle))
      edits.push_back({shuffle, "another first lane", [=]() mutable {
                         SmallVector<Attribute> mask =
                             llvm::to_vector(shuffle.getMask());
                         const int64_t lane =
                             cast<IntegerAttr>(mask[0]).getInt();
                         Builder b(shuffle.getContext());
                         mask[0] = b.getI64IntegerAttr(lane ^ 1);
                         shuffle.setMaskAttr(b.getArrayAttr(mask));
                         return shuffle;
                       }});
  });
  code.walk([&](vector::ExtractOp extract) {
    if (live.contains(extract) && extract.getStaticPosition().size() == 1 &&
        extract.getDynamicPosition().empty() &&
        cast<VectorType>(extract.getVector().getType()).getNumElements() > 1)
      edits.push_back({extract, "another lane", [=]() mutable {
                         const int64_t lane = extract.getStaticPosition()[0];
                         extract.setStaticPosition({lane ^ 1});
                         return extract;
                       }});
  });
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Returns true for a bf16 value in f32, as far as this analysis sees.
static bool isWidened(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<arith::BitcastOp, vector::BitCastOp>(op))
      return true;
    if (!isa<vector::BroadcastOp, vector::ShuffleOp, vector::ExtractOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// Sums, in which each rounding counts. A product between two bf16 values is
/// exact.
void roundTwice(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](LLVM::FMAOp fma) {
    if (!live.contains(fma) || matchPattern(fma.getA(), m_Constant()) ||
        matchPattern(fma.getB(), m_Constant()) ||
        matchPattern(fma.getC(), m_Constant()) || isWidened(fma.getA()) ||
        isWidened(fma.getB()) ||
        hasNarrowResults(fma->getParentOfType<LLVM::LLVMFuncOp>()))
      return;
    edits.push_back({fma, "rounded twice", [=]() mutable -> Operation * {
                       OpBuilder b(fma);
                       Value product = b.create<arith::MulFOp>(
                           fma.getLoc(), fma.getA(), fma.getB());
                       auto sum = b.create<arith::AddFOp>(fma.getLoc(), product,
                                                          fma.getC());
                       fma.getRes().replaceAllUsesWith(sum);
                       fma.getOperation()->erase();
                       return sum;
                     }});
  });
}

} // namespace transom::testing
