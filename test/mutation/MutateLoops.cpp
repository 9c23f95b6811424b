// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and tails that end too early or too late, masks with a lane more or
// less, and counters with a wrong start or end.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "test/mutation/CodeMutations.h"

using namespace mlir;

namespace transom::testing {

static Value makeInteger(OpBuilder &b, Location loc, Type type, int64_t value) {
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(type, value));
}

/// `value + more`, before an operation.
static Value addTo(Operation *before, Value value, int64_t more) {
  OpBuilder b(before);
  Location loc = before->getLoc();
  return b.create<arith::AddIOp>(loc, value,
                                 makeInteger(b, loc, value.getType(), more));
}

//===----------------------------------------------------------------------===//
// Tails
//===----------------------------------------------------------------------===//

/// A loop bound moved by one step.
static void addBounds(scf::ForOp loop, Edits &edits) {
  auto move = [&](const char *what, bool isUpper, bool isMore) {
    edits.push_back(
        {loop, what, [=]() mutable {
           OpBuilder b(loop);
           Value bound = isUpper ? loop.getUpperBound() : loop.getLowerBound();
           Value moved = isMore ? b.create<arith::AddIOp>(loop.getLoc(), bound,
                                                          loop.getStep())
                                      .getResult()
                                : b.create<arith::SubIOp>(loop.getLoc(), bound,
                                                          loop.getStep())
                                      .getResult();
           if (isUpper)
             loop.setUpperBound(moved);
           else
             loop.setLowerBound(moved);
           return loop;
         }});
  };
  move("without the last iteration", true, false);
  move("with an iteration more", true, true);
  move("without the first iteration", false, true);
}

void changeTails(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](scf::ForOp loop) {
    if (live.contains(loop))
      addBounds(loop, edits);
  });
  // The remainder after whole vectors, panels or blocks.
  code.walk([&](arith::RemUIOp rest) {
    if (!live.contains(rest))
      return;
    for (int64_t more : {1, -1})
      edits.push_back(
          {rest, more > 0 ? "one more" : "one less", [=]() mutable {
             OpBuilder b(rest->getContext());
             b.setInsertionPointAfter(rest);
             auto changed = b.create<arith::AddIOp>(
                 rest.getLoc(), rest,
                 makeInteger(b, rest.getLoc(), rest.getType(), more));
             rest->getResult(0).replaceAllUsesExcept(changed, {changed});
             return rest;
           }});
  });
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// The comparison that makes a vector mask, or null.
static arith::CmpIOp getComparison(Value mask) {
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
  return compare && isa<VectorType>(compare.getType()) ? compare
                                                       : arith::CmpIOp();
}

/// The predicate with or without equality.
static std::optional<arith::CmpIPredicate>
getNeighbour(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::sgt:
    return P::sge;
  case P::sge:
    return P::sgt;
  case P::slt:
    return P::sle;
  case P::sle:
    return P::slt;
  case P::ugt:
    return P::uge;
  case P::uge:
    return P::ugt;
  case P::ult:
    return P::ule;
  case P::ule:
    return P::ult;
  default:
    return std::nullopt;
  }
}

/// Gives one mask use another mask.
static void addMasks(OpOperand &use, Edits &edits) {
  Operation *user = use.getOwner();
  const unsigned index = use.getOperandNumber();
  auto compare = getComparison(use.get());
  if (!compare)
    return;
  // The lane at the border joins or leaves the mask.
  if (auto other = getNeighbour(compare.getPredicate()))
    edits.push_back({user, "a lane at the border", [=]() mutable {
                       OpBuilder b(user);
                       user->setOperand(index, b.create<arith::CmpIOp>(
                                                   compare.getLoc(), *other,
                                                   compare.getLhs(),
                                                   compare.getRhs()));
                       return user;
                     }});
  // One lane more or less on either side.
  for (unsigned side : {0u, 1u})
    edits.push_back(
        {user, "a lane moved", [=]() mutable {
           OpBuilder b(user);
           Value operand = compare->getOperand(side);
           auto type = cast<VectorType>(operand.getType());
           Value one = b.create<arith::ConstantOp>(
               compare.getLoc(),
               DenseElementsAttr::get(
                   type, b.getIntegerAttr(type.getElementType(), 1)));
           operand = b.create<arith::AddIOp>(compare.getLoc(), operand, one);
           user->setOperand(index, b.create<arith::CmpIOp>(
                                       compare.getLoc(), compare.getPredicate(),
                                       side == 0 ? operand : compare.getLhs(),
                                       side == 1 ? operand : compare.getRhs()));
           return user;
         }});
  // All lanes are set.
  edits.push_back({user, "no mask", [=]() mutable {
                     OpBuilder b(user);
                     auto type = cast<VectorType>(compare.getType());
                     user->setOperand(index,
                                      b.create<arith::ConstantOp>(
                                          compare.getLoc(),
                                          DenseElementsAttr::get(type, true)));
                     return user;
                   }});
}

void changeMasks(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](Operation *op) {
    if (!live.contains(op))
      return;
    if (isa<LLVM::MaskedStoreOp>(op))
      addMasks(op->getOpOperand(2), edits);
    if (isa<LLVM::MaskedLoadOp>(op))
      addMasks(op->getOpOperand(1), edits);
    if (isa<arith::SelectOp>(op))
      addMasks(op->getOpOperand(0), edits);
  });
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

/// Returns true if a single addition completes a count: no other one sees the
/// counter.
static bool isOnlyCount(LLVM::AtomicRMWOp count) {
  return llvm::any_of(count.getRes().getUsers(), [](Operation *sum) {
    return llvm::any_of(sum->getUsers(), [](Operation *user) {
      auto compare = dyn_cast<arith::CmpIOp>(user);
      return compare && isa<arith::AddIOp>(compare.getLhs().getDefiningOp()) &&
             matchPattern(compare.getRhs(), m_One());
    });
  });
}

/// A worker counter: its increment, its comparison, and its reset to zero.
static void addCounter(LLVM::AtomicRMWOp count, Edits &edits) {
  if (isOnlyCount(count))
    return;
  edits.push_back({count, "counts one too many", [=]() mutable {
                     count->setOperand(1, addTo(count, count.getVal(), 1));
                     return count;
                   }});
  // As if the previous count were still there.
  edits.push_back({count, "counts from one", [=]() mutable {
                     OpBuilder b(count->getContext());
                     b.setInsertionPointAfter(count);
                     Value one =
                         makeInteger(b, count.getLoc(), count.getType(), 1);
                     auto stale = b.create<arith::AddIOp>(count.getLoc(),
                                                          count.getRes(), one);
                     count.getRes().replaceAllUsesExcept(stale, {stale});
                     return count;
                   }});
  for (Operation *user : count.getPtr().getUsers())
    if (isa<LLVM::StoreOp>(user)) {
      edits.push_back(
          {user, "a counter that stays", [=]() mutable -> Operation * {
             user->erase();
             return nullptr;
           }});
      edits.push_back({user, "a counter that ends at one", [=]() mutable {
                         OpBuilder b(user);
                         user->setOperand(
                             0, makeInteger(b, user->getLoc(),
                                            user->getOperand(0).getType(), 1));
                         return user;
                       }});
    }
}

/// Returns true for a loop that searches for the cheapest work split, since all
/// splits give the same results.
static bool findsCheapest(scf::ForOp loop) {
  return llvm::any_of(loop.getInitArgs(), [](Value init) {
    APInt number;
    return matchPattern(init, m_ConstantInt(&number)) &&
           number.isMaxSignedValue();
  });
}

void startStale(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](LLVM::AtomicRMWOp count) { addCounter(count, edits); });
  // Loop accumulators and counters.
  code.walk([&](scf::ForOp loop) {
    if (findsCheapest(loop))
      return;
    for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
      if (!live.isUsed(loop.getRegionIterArgs()[i]))
        continue;
      OpOperand *operand = &loop.getInitsMutable()[i];
      if (init.getType().isInteger(64))
        edits.push_back(
            {loop, "a counter that starts at one more", [=]() mutable {
               operand->set(addTo(loop, operand->get(), 1));
               return loop;
             }});
      DenseElementsAttr zero;
      if (matchPattern(init, m_Constant(&zero)) && zero.isSplat() &&
          isa<FloatType>(zero.getElementType()))
        edits.push_back(
            {loop, "an accumulator that starts at one", [=]() mutable {
               OpBuilder b(loop);
               operand->set(b.create<arith::ConstantOp>(
                   loop.getLoc(),
                   DenseElementsAttr::get(
                       zero.getType(),
                       b.getFloatAttr(zero.getElementType(), 1))));
               return loop;
             }});
    }
  });
}

} // namespace transom::testing
