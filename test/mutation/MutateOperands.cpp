// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exchanges, replaces and omits operands.
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/mutation/EqualMutants.h"
#include "test/mutation/LiveOperations.h"
#include "test/mutation/Mutations.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace transom::testing {

/// Calls a function for each operation with an influence in a body.
template <typename Function>
static void forEachLive(ModuleOp module, Function function) {
  LiveOperations live(module);
  module.walk([&](Operation *op) {
    if (live.contains(op) && !isa<ModuleOp, func::FuncOp, func::ReturnOp>(op))
      function(op);
  });
}

/// Returns true for two values that are the same weight or cache.
static bool areSame(Value a, Value b) {
  auto isRead = [](Value value) {
    return value.getDefiningOp() &&
           value.getDefiningOp()->getNumOperands() == 0 &&
           isPure(value.getDefiningOp());
  };
  return a == b ||
         (isRead(a) && isRead(b) &&
          a.getDefiningOp()->getName() == b.getDefiningOp()->getName() &&
          a.getDefiningOp()->getAttrDictionary() ==
              b.getDefiningOp()->getAttrDictionary());
}

void swapOperands(ModuleOp module, const TensorSource &, Edits &edits) {
  forEachLive(module, [&](Operation *op) {
    if (isCommutative(op))
      return;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      for (unsigned j = i + 1; j < op->getNumOperands(); ++j) {
        Value x = op->getOperand(i), y = op->getOperand(j);
        if (x.getType() != y.getType() || areSame(x, y))
          continue;
        edits.push_back({op, "operands swapped", [=] {
                           op->setOperand(i, y);
                           op->setOperand(j, x);
                           return op;
                         }});
      }
  });
}

/// Values that an operation in this block may use in place of another.
static SmallVector<Value> getAlternatives(Operation *op, Value value) {
  SmallVector<Value> found;
  auto add = [&](Value other) {
    if (other.getType() == value.getType() && !areSame(other, value))
      found.push_back(other);
  };
  for (Block *block = op->getBlock(); block;) {
    llvm::for_each(block->getArguments(), add);
    for (Operation &earlier : *block) {
      if (&earlier == op || earlier.isAncestor(op))
        break;
      llvm::for_each(earlier.getResults(), add);
    }
    Operation *parent = block->getParentOp();
    block = isa<kern::PhaseOp>(parent) ? parent->getBlock() : nullptr;
  }
  return found;
}

/// Returns false for a pool over the first row, hidden or not.
static bool readsMask(attn::PoolOp op) {
  return op.getKind() != attn::PoolKind::First;
}
static bool readsMask(kern::PoolOp op) {
  return op.getKind() != kern::PoolKind::First;
}

/// Returns true for an operand that the operation does not use.
static bool isIgnored(Operation *op, Value operand) {
  if (auto pool = dyn_cast<attn::PoolOp>(op))
    return operand == pool.getMask() && !readsMask(pool);
  auto pool = dyn_cast<kern::PoolOp>(op);
  return pool && operand == pool.getMask() && !readsMask(pool);
}

void takeOtherOperands(ModuleOp module, const TensorSource &, Edits &edits) {
  forEachLive(module, [&](Operation *op) {
    // A column needs only the sizes from its ids.
    auto position = dyn_cast<attn::PositionOp>(op);
    if (position && position.getKind() == attn::PositionKind::Column)
      return;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (isIgnored(op, op->getOperand(i)))
        continue;
      for (Value other : getAlternatives(op, op->getOperand(i)))
        edits.push_back({op, "other operand", [=] {
                           op->setOperand(i, other);
                           return op;
                         }});
    }
  });
}

namespace {

/// Optional operands in one operation.
struct Droppable {
  const char *name;
  MutableOperandRange range;
};

} // namespace

static SmallVector<Droppable> getDroppable(Operation *op) {
  using Found = SmallVector<Droppable>;
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case(
          [](attn::LinearOp o) { return Found{{"bias", o.getBiasMutable()}}; })
      .Case([](attn::LayerNormOp o) {
        return Found{{"beta", o.getBetaMutable()}};
      })
      .Case([](attn::PoolOp o) {
        return readsMask(o) ? Found{{"mask", o.getMaskMutable()}} : Found();
      })
      .Case([](attn::SdpaOp o) {
        return Found{{"mask", o.getMaskMutable()},
                     {"slopes", o.getSlopesMutable()},
                     {"relative bias", o.getRelativeBiasMutable()},
                     {"position keys", o.getPositionKeysMutable()},
                     {"position queries", o.getPositionQueriesMutable()}};
      })
      .Case([](attn::NeighborsOp o) {
        return Found{{"mask", o.getMaskMutable()}};
      })
      .Case([](kern::NeighborsOp o) {
        return Found{{"mask", o.getMaskMutable()}};
      })
      .Case([](kern::NormOp o) { return Found{{"beta", o.getBetaMutable()}}; })
      .Case([](kern::PoolOp o) {
        return readsMask(o) ? Found{{"mask", o.getMaskMutable()}} : Found();
      })
      .Case([](kern::GemmOp o) {
        return Found{{"bias", o.getBiasMutable()},
                     {"residual", o.getResidualMutable()},
                     {"beta", o.getNormBetaMutable()}};
      })
      .Case([](kern::GroupGemmOp o) {
        return Found{{"bias", o.getBiasMutable()}};
      })
      .Case([](kern::AttentionOp o) {
        return Found{{"mask", o.getMaskMutable()},
                     {"slopes", o.getSlopesMutable()},
                     {"relative bias", o.getRelativeBiasMutable()},
                     {"content to position", o.getContentToPositionMutable()},
                     {"position to content", o.getPositionToContentMutable()}};
      })
      .Case([](kern::OneDnnOp o) {
        return Found{{"residual", o.getResidualMutable()}};
      })
      .Default([](Operation *) { return Found(); });
}

void dropOperands(ModuleOp module, const TensorSource &, Edits &edits) {
  forEachLive(module, [&](Operation *op) {
    for (Droppable &operand : getDroppable(op)) {
      if (operand.range.size() == 0)
        continue;
      edits.push_back(
          {op, std::string("without ") + operand.name, [op, operand] {
             MutableOperandRange range = operand.range;
             range.clear();
             if (auto sdpa = dyn_cast<attn::SdpaOp>(op);
                 sdpa && !sdpa.getMask() && !sdpa.getRagged())
               sdpa.setMaskKindAttr(attn::MaskKindAttr::get(
                   op->getContext(), attn::MaskKind::None));
             if (auto attention = dyn_cast<kern::AttentionOp>(op);
                 attention && !attention.getMask())
               attention.removeMaskValueAttr();
             // Buckets go with positions only.
             if (auto sdpa = dyn_cast<attn::SdpaOp>(op);
                 sdpa && !sdpa.getPositionBuckets())
               sdpa.setMaxDistance(0);
             if (auto attention = dyn_cast<kern::AttentionOp>(op);
                 attention && !attention.getPositionBuckets())
               attention.setMaxDistance(0);
             return op;
           }});
    }
  });
}

} // namespace transom::testing
