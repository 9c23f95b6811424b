// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets for buffers, weights and caches, and the words in which workers
// count.
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/mutation/LiveOperations.h"
#include "test/mutation/Mutations.h"

using namespace mlir;

namespace transom::testing {

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

namespace {

/// A line in `kern.buffers`.
struct Slot {
  explicit Slot(DictionaryAttr entry)
      : entry(entry), offset(getSize("offset")), bytes(getSize("bytes")),
        first(entry.getAs<IntegerAttr>("first").getInt()),
        last(entry.getAs<IntegerAttr>("last").getInt()) {}

  Polynomial getSize(StringRef name) const {
    return *Polynomial::parse(entry.getAs<StringAttr>(name).str());
  }
  bool livesWith(const Slot &other) const {
    return first <= other.last && other.first <= last;
  }

  DictionaryAttr entry;
  Polynomial offset, bytes;
  int64_t first, last;
};

/// The slots in an entry.
struct Arena {
  explicit Arena(func::FuncOp function) : function(function) {
    for (Attribute entry : function->getAttrOfType<ArrayAttr>("kern.buffers"))
      slots.emplace_back(cast<DictionaryAttr>(entry));
  }

  /// Returns true if a buffer may use an offset for all sizes: no other buffer
  /// lives at the same time.
  bool isFree(size_t slot, const Polynomial &offset) const;
  /// The table with one offset changed.
  Attribute withOffset(size_t slot, const Polynomial &offset) const;

  func::FuncOp function;
  SmallVector<Slot> slots;
};

} // namespace

bool Arena::isFree(size_t slot, const Polynomial &offset) const {
  auto bytes = Polynomial::parse(
      function->getAttrOfType<StringAttr>("kern.arena_bytes").str());
  const Slot &own = slots[slot];
  if (!bytes || !bytes->coversCoefficients(offset + own.bytes))
    return false;
  for (auto [i, other] : llvm::enumerate(slots))
    if (i != slot && own.livesWith(other) &&
        !offset.coversCoefficients(other.offset + other.bytes) &&
        !other.offset.coversCoefficients(offset + own.bytes))
      return false;
  return true;
}

Attribute Arena::withOffset(size_t slot, const Polynomial &offset) const {
  Builder b(function->getContext());
  SmallVector<Attribute> table;
  for (auto [i, line] : llvm::enumerate(slots)) {
    NamedAttrList entry(line.entry);
    if (i == slot)
      entry.set("offset", b.getStringAttr(offset.str()));
    table.push_back(entry.getDictionary(b.getContext()));
  }
  return b.getArrayAttr(table);
}

/// Live buffers in the arena, by slot.
static DenseMap<size_t, kern::AllocOp> getAllocs(ModuleOp module,
                                                 const LiveOperations &live) {
  DenseMap<size_t, kern::AllocOp> allocs;
  module.walk([&](kern::AllocOp alloc) {
    if (alloc.getSlot() && live.contains(alloc))
      allocs[*alloc.getSlot()] = alloc;
  });
  return allocs;
}

/// One public function has the table. Modules with several are left alone,
/// since a slot does not specify its entry.
static std::optional<Arena> getArena(ModuleOp module) {
  std::optional<Arena> arena;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr("kern.buffers"))
      continue;
    if (arena)
      return std::nullopt;
    arena.emplace(function);
  }
  return arena;
}

/// Moves buffers to another one's offset.
static void moveBuffers(ModuleOp module, const LiveOperations &live,
                        function_ref<bool(kern::AllocOp)> isMoved,
                        const std::string &what, Edits &edits) {
  std::optional<Arena> arena = getArena(module);
  if (!arena)
    return;
  auto allocs = getAllocs(module, live);
  for (auto [slot, alloc] : allocs)
    for (auto [other, otherAlloc] : allocs) {
      const Polynomial &offset = arena->slots[other].offset;
      if (slot == other || !(isMoved(alloc) || isMoved(otherAlloc)) ||
          offset == arena->slots[slot].offset || arena->isFree(slot, offset))
        continue;
      Attribute table = arena->withOffset(slot, offset);
      func::FuncOp function = arena->function;
      edits.push_back({alloc, what, [=, alloc = alloc]() -> Operation * {
                         func::FuncOp(function)->setAttr("kern.buffers", table);
                         return alloc;
                       }});
    }
}

//===----------------------------------------------------------------------===//
// Weights and caches
//===----------------------------------------------------------------------===//

static Edit setInteger(Operation *op, const char *name, int64_t value,
                       const std::string &what) {
  return {op, what, [=] {
            op->setAttr(name,
                        Builder(op->getContext()).getI64IntegerAttr(value));
            return op;
          }};
}

static int64_t getBytes(kern::WeightOp op) {
  return op.getType().getByteSize();
}

static int64_t getBytes(kern::CacheOp op) {
  return cast<kern::CacheType>(op.getType()).getByteSize();
}

/// Moves weights and caches to other locations, or next to their own.
template <typename OpT>
static void movePlaces(ModuleOp module, const LiveOperations &live,
                       Edits &edits) {
  SmallVector<OpT> all;
  for (auto op : module.getOps<OpT>())
    if (op.getOffset() && live.contains(op))
      all.push_back(op);
  for (OpT op : all) {
    auto offset = static_cast<int64_t>(*op.getOffset());
    if (getBytes(op) > 64)
      edits.push_back(setInteger(op, "offset", offset + 64, "64 bytes on"));
    edits.push_back(setInteger(op, "offset", offset + 32, "32 bytes on"));
    for (OpT other : all)
      if (other != op && other->getAttr("group") == op->getAttr("group"))
        edits.push_back(setInteger(op, "offset",
                                   static_cast<int64_t>(*other.getOffset()),
                                   "offset of another"));
  }
}

void changeOffsets(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  // Weights and caches are placed before buffers.
  moveBuffers(
      module, live, [](kern::AllocOp) { return true; },
      "at the offset of another", edits);
  if (!edits.empty())
    return;
  movePlaces<kern::WeightOp>(module, live, edits);
  movePlaces<kern::CacheOp>(module, live, edits);
  for (auto cache : module.getOps<kern::CacheOp>())
    if (cache.getGroup() && live.contains(cache))
      edits.push_back(setInteger(cache, "group",
                                 static_cast<int64_t>(*cache.getGroup()) + 1,
                                 "another group"));
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

/// The operand in which an operation counts, if any.
static OpOperand *findCounters(Operation *op) {
  Value counters;
  if (auto gemm = dyn_cast<kern::GemmOp>(op))
    counters = gemm.getNormCounters();
  if (auto attention = dyn_cast<kern::AttentionOp>(op))
    counters = attention.getCounters();
  for (OpOperand &operand : op->getOpOperands())
    if (counters && operand.get() == counters)
      return &operand;
  return nullptr;
}

/// The operation that zeroes counters.
static Operation *findClear(Value counters) {
  for (Operation *user : counters.getUsers())
    if (auto clear = dyn_cast<kern::ElementwiseOp>(user);
        clear && clear.getOuts() == counters)
      return clear;
  return nullptr;
}

/// Changes to one operation's counters.
static void addCounterEdits(Operation *op, OpOperand *counters, Edits &edits) {
  Operation *clear = findClear(counters->get());
  if (!clear)
    return;
  auto constants = clear->getRegion(0).getOps<arith::ConstantOp>();
  if (!constants.empty()) {
    arith::ConstantOp zero = *constants.begin();
    edits.push_back({clear, "counters from one", [=]() -> Operation * {
                       zero->setAttr(
                           "value",
                           Builder(op->getContext()).getI64IntegerAttr(1));
                       return clear;
                     }});
  }
  edits.push_back({clear, "counters not cleared", [=]() -> Operation * {
                     clear->erase();
                     return nullptr;
                   }});
  edits.push_back({clear, "counters cleared after use", [=]() -> Operation * {
                     clear->moveAfter(op);
                     return clear;
                   }});
  if (isa<kern::PhaseOp>(op->getParentOp()))
    edits.push_back(
        {clear, "counters cleared in the same phase", [=]() -> Operation * {
           clear->moveBefore(op);
           return clear;
         }});
  // Memory with that type and other contents.
  for (Operation &other : *counters->get().getDefiningOp()->getBlock()) {
    auto alloc = dyn_cast<kern::AllocOp>(other);
    if (!alloc || alloc.getType() != counters->get().getType() ||
        llvm::any_of(alloc->getUsers(), findCounters))
      continue;
    Value buffer = alloc.getResult();
    edits.push_back({op, "counts in another buffer", [=]() -> Operation * {
                       counters->set(buffer);
                       return op;
                     }});
  }
}

void spoilCounters(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  llvm::DenseSet<Value> all;
  module.walk([&](Operation *op) {
    OpOperand *counters = live.contains(op) ? findCounters(op) : nullptr;
    if (!counters || !counters->get().getDefiningOp())
      return;
    all.insert(counters->get());
    addCounterEdits(op, counters, edits);
  });
  moveBuffers(
      module, live,
      [&](kern::AllocOp alloc) { return all.count(alloc.getResult()); },
      "counters and another buffer at one offset", edits);
}

} // namespace transom::testing
