// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier stands only where a part could need what another part makes.
#include "dialects/attn/Place.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-form-phases"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FORMPHASESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

static bool touches(ArrayRef<Value> buffers, Value storage) {
  return llvm::any_of(buffers, [&](Value buffer) {
    return kern::storageOf(buffer) == storage;
  });
}

/// True when both own the rows of this buffer: then each part meets only what
/// it wrote itself.
static bool sameRows(kern::BufferOp a, kern::BufferOp b, Value buffer) {
  std::optional<Polynomial> rows = a.ownedRows(), others = b.ownedRows();
  return rows && others && *rows == *others &&
         cast<kern::BufferType>(buffer.getType()).getRowCount() == *rows &&
         !buffer.getDefiningOp<kern::ViewOp>();
}

/// True when one of both writes a cache that the other may touch. Rows of one
/// operation do not tell which rows of a sequence another reads.
static bool meetInCache(kern::BufferOp a, kern::BufferOp b) {
  auto touches = [](kern::BufferOp op) {
    auto attention = dyn_cast<kern::AttentionOp>(op.getOperation());
    return isa<kern::AppendOp>(op.getOperation()) ||
           (attention && attention.getCache());
  };
  return touches(a) && touches(b) &&
         (isa<kern::AppendOp>(a.getOperation()) ||
          isa<kern::AppendOp>(b.getOperation()));
}

/// True when `later` may run without a barrier behind `earlier`.
static bool independent(kern::BufferOp earlier, kern::BufferOp later) {
  auto clear = [&](kern::BufferOp writer, ArrayRef<Value> written,
                   ArrayRef<Value> touched, kern::BufferOp other) {
    for (Value buffer : written)
      for (Value use : touched)
        if (kern::storageOf(buffer) == kern::storageOf(use) &&
            !(sameRows(writer, other, buffer) && sameRows(writer, other, use)))
          return false;
    return true;
  };
  SmallVector<Value> written = earlier.writtenBuffers(),
                     laterWritten = later.writtenBuffers();
  return !meetInCache(earlier, later) &&
         clear(earlier, written, later.readBuffers(), later) &&
         clear(earlier, written, laterWritten, later) &&
         clear(later, laterWritten, earlier.readBuffers(), earlier);
}

namespace {

struct FormPhasesPass
    : public transom::impl::FormPhasesPassBase<FormPhasesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      formPhases(function);
  }

  void formPhases(func::FuncOp function) {
    SmallVector<SmallVector<kern::BufferOp>> groups;
    bool open = false;
    SmallVector<Operation *> operations;
    for (Operation &op : function.getBody().front())
      operations.push_back(&op);
    for (Operation *op : operations) {
      auto next = dyn_cast<kern::BufferOp>(op);
      if (!next) {
        // Definitions stand in front of all phases; layers end a phase.
        if (isa<kern::LayersOp>(op))
          open = false;
        continue;
      }
      bool joins =
          open && !isa<kern::OneDnnOp>(op) &&
          llvm::all_of(groups.back(), [&](kern::BufferOp earlier) {
            return !isa<kern::OneDnnOp>(earlier) && independent(earlier, next);
          });
      if (!joins)
        groups.emplace_back();
      else
        ++joined;
      groups.back().push_back(next);
      open = true;
    }
    hoistDefinitions(operations);
    for (auto [i, group] : llvm::enumerate(groups))
      makePhase(function, i, group);
  }

  /// Allocations, views, weights and segments first, in their order.
  static void hoistDefinitions(ArrayRef<Operation *> operations) {
    Operation *last = nullptr;
    for (Operation *op : operations) {
      if (!isa<kern::AllocOp, kern::ViewOp, kern::GetWeightOp, kern::SegmentsOp,
               kern::GetCacheOp, kern::SequencesOp>(op))
        continue;
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&op->getBlock()->front());
      last = op;
    }
  }

  void makePhase(func::FuncOp function, size_t index,
                 ArrayRef<kern::BufferOp> group) {
    OpBuilder b(group.front());
    SmallVector<Location> places;
    for (kern::BufferOp op : group)
      places.push_back(op.getLoc());
    std::string what = group.front()->getName().stripDialect().str();
    if (auto call = dyn_cast<kern::OneDnnOp>(*group.front()))
      what += "_" + call.getPrimitive().str();
    std::string name =
        (function.getSymName() + "." + std::to_string(index) + "." + what)
            .str();
    auto phase = b.create<kern::PhaseOp>(fusePlaces(&getContext(), places),
                                         b.getStringAttr(name));
    Block *body = b.createBlock(&phase.getBody());
    for (kern::BufferOp op : group)
      op->moveBefore(body, body->end());
    ++phases;
  }
};

} // namespace
