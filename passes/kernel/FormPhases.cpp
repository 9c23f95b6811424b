// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier stands only where a part could need what another part makes.
#include "dialects/common/Location.h"
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

/// True when nothing that one of both writes is touched by the other; with
/// `rows`, other than rows that each part owns in both.
static bool independent(kern::BufferOp earlier, kern::BufferOp later,
                        bool rows) {
  auto clear = [&](kern::BufferOp writer, ArrayRef<Value> written,
                   ArrayRef<Value> touched, kern::BufferOp other) {
    for (Value buffer : written)
      for (Value use : touched)
        if (kern::getStorage(buffer) == kern::getStorage(use) &&
            !(rows && sameRows(writer, other, buffer) &&
              sameRows(writer, other, use)))
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

  using Group = SmallVector<kern::BufferOp>;

  /// True when an operation may run beside all of a phase, or (without `rows`)
  /// before all of it.
  static bool fits(const Group &group, kern::BufferOp next, bool rows) {
    return llvm::all_of(group, [&](kern::BufferOp earlier) {
      return !isa<kern::OneDnnOp>(earlier) && independent(earlier, next, rows);
    });
  }

  /// The first phase from `open` on that an operation may join, which must have
  /// nothing to do with those behind it; their number when there is none.
  static size_t placeOf(ArrayRef<Group> groups, size_t open,
                        kern::BufferOp next) {
    size_t place = groups.size();
    if (isa<kern::OneDnnOp>(next))
      return place;
    for (size_t i = groups.size(); i > open; --i) {
      if (fits(groups[i - 1], next, true))
        place = i - 1;
      if (!fits(groups[i - 1], next, false))
        break;
    }
    return place;
  }

  void formPhases(func::FuncOp function) {
    SmallVector<Group> groups;
    size_t open = 0; // the first phase behind the last layers
    SmallVector<Operation *> operations;
    for (Operation &op : function.getBody().front())
      operations.push_back(&op);
    for (Operation *op : operations) {
      auto next = dyn_cast<kern::BufferOp>(op);
      if (!next) {
        // Definitions stand in front of all phases; layers end a phase.
        if (isa<kern::LayersOp>(op))
          open = groups.size();
        continue;
      }
      size_t place = placeOf(groups, open, next);
      if (place == groups.size())
        groups.emplace_back();
      else
        ++joined;
      groups[place].push_back(next);
    }
    hoistDefinitions(operations);
    for (auto [i, group] : llvm::enumerate(groups))
      makePhase(function, i, group);
  }

  /// Allocations, views, weights and ragged first, in their order.
  static void hoistDefinitions(ArrayRef<Operation *> operations) {
    Operation *last = nullptr;
    for (Operation *op : operations) {
      if (!isa<kern::AllocOp, kern::ViewOp, kern::GetWeightOp,
               kern::RaggedBatchOp, kern::GetCacheOp, kern::DecodeBatchOp>(op))
        continue;
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&op->getBlock()->front());
      last = op;
    }
  }

  /// What a phase is named after: the first product or attention, else the
  /// first that reads anything.
  static kern::BufferOp mainOf(ArrayRef<kern::BufferOp> group) {
    for (kern::BufferOp op : group)
      if (isa<kern::GemmOp, kern::AttentionOp, kern::BatchMatmulOp>(
              op.getOperation()))
        return op;
    for (kern::BufferOp op : group)
      if (!op.readBuffers().empty())
        return op;
    return group.front();
  }

  void makePhase(func::FuncOp function, size_t index,
                 ArrayRef<kern::BufferOp> group) {
    OpBuilder b(group.front());
    SmallVector<Location> places;
    for (kern::BufferOp op : group)
      places.push_back(op.getLoc());
    kern::BufferOp main = mainOf(group);
    std::string what = main->getName().stripDialect().str();
    if (auto call = dyn_cast<kern::OneDnnOp>(*main))
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
