// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that are reordered, omitted, or on the wrong side of a barrier,
// where another worker or a later operation sees the difference.
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/mutation/LiveOperations.h"
#include "test/mutation/Mutations.h"

using namespace mlir;

namespace transom::testing {

/// Returns true if both own this buffer's rows: each worker accesses its own
/// rows.
static bool ownSameRows(kern::BufferOp a, kern::BufferOp b, Value buffer) {
  std::optional<Polynomial> rows = a.ownedRows(), others = b.ownedRows();
  return rows && others && *rows == *others &&
         getBufferType(buffer).getRowCount() == *rows &&
         getBufferType(kern::getStorage(buffer)).getRowCount() == *rows;
}

/// Returns true if one accesses memory that the other writes; with
/// `acrossWorkers` rows that each worker owns in both do not count.
static bool meet(kern::BufferOp a, kern::BufferOp b, bool acrossWorkers) {
  auto meetIn = [&](ArrayRef<Value> written, ArrayRef<Value> touched,
                    kern::BufferOp writer, kern::BufferOp other) {
    for (Value buffer : written)
      for (Value use : touched)
        if (kern::getStorage(buffer) == kern::getStorage(use) &&
            !(acrossWorkers && ownSameRows(writer, other, buffer) &&
              ownSameRows(writer, other, use)))
          return true;
    return false;
  };
  // Two result parts that do not overlap.
  if (isa<kern::CopyOp>(*a) && isa<kern::CopyOp>(*b) &&
      cast<kern::CopyOp>(*a).getOuts() == cast<kern::CopyOp>(*b).getOuts())
    return false;
  const bool inCache = a.getAccessedCache() && b.getAccessedCache() &&
                       (a.writesCache() || b.writesCache());
  return inCache || meetIn(a.writtenBuffers(), b.readBuffers(), a, b) ||
         meetIn(a.writtenBuffers(), b.writtenBuffers(), a, b) ||
         meetIn(b.writtenBuffers(), a.readBuffers(), b, a);
}

/// Buffer operations in an operation inside a function.
static SmallVector<kern::BufferOp> getBufferOps(Operation *op) {
  SmallVector<kern::BufferOp> all;
  if (auto buffers = dyn_cast<kern::BufferOp>(op))
    all.push_back(buffers);
  if (auto phase = dyn_cast<kern::PhaseOp>(op))
    for (auto inner : phase.getBody().getOps<kern::BufferOp>())
      all.push_back(inner);
  return all;
}

static bool meet(ArrayRef<kern::BufferOp> first,
                 ArrayRef<kern::BufferOp> second, bool acrossWorkers) {
  return llvm::any_of(first, [&](kern::BufferOp a) {
    return llvm::any_of(
        second, [&](kern::BufferOp b) { return meet(a, b, acrossWorkers); });
  });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void changeOrder(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  module.walk([&](Operation *op) {
    Operation *next = op->getNextNode();
    if (!next || !live.contains(op) || !live.contains(next) ||
        !meet(getBufferOps(op), getBufferOps(next), /*acrossWorkers=*/false))
      return;
    edits.push_back({op, "after the next operation", [=] {
                       op->moveAfter(next);
                       return op;
                     }});
  });
}

//===----------------------------------------------------------------------===//
// Omitted operations
//===----------------------------------------------------------------------===//

/// Returns true for a scale that changes nothing.
static bool isIdentity(Operation *op) {
  auto scale = dyn_cast<attn::ScaleOp>(op);
  return scale && scale.getFactor().convertToDouble() == 1 &&
         scale.getOffset().convertToDouble() == 0;
}

void eraseOperations(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  module.walk([&](Operation *op) {
    if (!live.contains(op) || isIdentity(op))
      return;
    if (isa<kern::BufferOp, kern::PhaseOp>(op))
      edits.push_back({op, "left out", [=]() -> Operation * {
                         op->erase();
                         return nullptr;
                       }});
    if (op->getNumResults() != 1 || !isa<attn::AttnDialect>(op->getDialect()))
      return;
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(0).getType())
        edits.push_back({op, "left out", [=]() -> Operation * {
                           op->getResult(0).replaceAllUsesWith(operand);
                           op->erase();
                           return nullptr;
                         }});
  });
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// The changes at the barrier between two phases.
static void removeBarrier(kern::PhaseOp first, kern::PhaseOp second,
                          Edits &edits) {
  SmallVector<kern::BufferOp> before = getBufferOps(first),
                              after = getBufferOps(second);
  if (!meet(before, after, /*acrossWorkers=*/true))
    return;
  Block *to = &first.getBody().front(), *from = &second.getBody().front();
  edits.push_back({first, "two phases merged", [=]() -> Operation * {
                     to->getOperations().splice(to->end(),
                                                from->getOperations());
                     from->getParentOp()->erase();
                     return first;
                   }});
  for (kern::BufferOp op : after)
    if (after.size() > 1 && meet(before, op, /*acrossWorkers=*/true))
      edits.push_back({op, "in the phase before", [=]() -> Operation * {
                         op->moveBefore(to, to->end());
                         return op;
                       }});
  for (kern::BufferOp op : before)
    if (before.size() > 1 && meet(op, after, /*acrossWorkers=*/true))
      edits.push_back({op, "in the next phase", [=]() -> Operation * {
                         op->moveBefore(from, from->begin());
                         return op;
                       }});
}

void removeBarriers(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  module.walk([&](kern::PhaseOp first) {
    auto second = dyn_cast_or_null<kern::PhaseOp>(first->getNextNode());
    if (second && live.contains(first) && live.contains(second))
      removeBarrier(first, second, edits);
  });
}

} // namespace transom::testing
