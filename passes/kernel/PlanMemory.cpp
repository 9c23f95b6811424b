// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adapts phases to the planner: lifetimes in, slots out.
#include "dialects/common/Location.h"
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/MemoryPlanner.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-plan-memory"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// Row distance in bytes at which rows share cache sets.
static constexpr int64_t kSetBytes = 4096;
/// Row distance at which rows share a few cache sets, which is slow if all rows
/// are read at once, in AMX tiles.
static constexpr int64_t kSetBytesOfTiles = 512;
/// Padding for such rows.
static constexpr int64_t kLineBytes = 64;

namespace {

/// The lifetimes of an entry's buffers, including its layer bodies' buffers.
class Lifetimes {
public:
  Lifetimes(func::FuncOp entry, SymbolTable &symbols,
            const kern::SizeBounds &bounds)
      : symbols(symbols), bounds(bounds) {
    visit(entry, {});
  }

  std::vector<BufferLifetime> lifetimes;
  SmallVector<kern::AllocOp> allocs;
  /// The phase at each step; empty at step 0, which is before all phases, and
  /// where layers begin and end.
  SmallVector<StringRef> steps{""};

private:
  /// `outer`: the storage for a body's leading arguments.
  void visit(func::FuncOp function, ArrayRef<Value> outer) {
    for (Operation &op : function.getBody().front()) {
      if (auto alloc = dyn_cast<kern::AllocOp>(op)) {
        index[alloc.getResult()] = allocs.size();
        allocs.push_back(alloc);
        lifetimes.push_back(
            {bounds.getBound(alloc.getType().getByteSize()), INT64_MAX, -1});
      } else if (auto phase = dyn_cast<kern::PhaseOp>(op)) {
        steps.push_back(phase.getName());
        const auto step = static_cast<int64_t>(steps.size()) - 1;
        // Phases without a barrier between them run concurrently.
        first = phase.getJoinedPhase() ? step - 1 : step;
        auto next = dyn_cast_or_null<kern::PhaseOp>(phase->getNextNode());
        last = next && next.getJoinedPhase() ? step + 1 : step;
        for (auto inner : phase.getBody().getOps<kern::BufferOp>()) {
          for (Value buffer : inner.readBuffers())
            use(buffer, outer);
          for (Value buffer : inner.writtenBuffers())
            use(buffer, outer);
        }
      } else if (auto layers = dyn_cast<kern::LayersOp>(op)) {
        visitLayers(layers, outer);
      }
    }
  }

  /// Operands of layers are live from before the first body until after the
  /// last.
  void visitLayers(kern::LayersOp layers, ArrayRef<Value> outer) {
    SmallVector<Value> given;
    for (Value operand : layers->getOperands())
      given.push_back(storage(operand, outer));
    auto useAll = [&] {
      for (Value value : given)
        use(value, {});
    };
    addLayersStep();
    useAll();
    llvm::SmallPtrSet<Operation *, 2> seen;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      func::FuncOp body = layers.getBody(layer, symbols);
      if (seen.insert(body).second)
        visit(body, given);
    }
    addLayersStep();
    useAll();
  }

  /// Adds a step at which layers begin or end.
  void addLayersStep() {
    steps.push_back("");
    first = last = static_cast<int64_t>(steps.size()) - 1;
  }

  static Value storage(Value value, ArrayRef<Value> outer) {
    if (!isa<kern::BufferType>(value.getType()))
      return value;
    Value owner = kern::getStorage(value);
    auto argument = dyn_cast<BlockArgument>(owner);
    return argument && argument.getArgNumber() < outer.size()
               ? outer[argument.getArgNumber()]
               : owner;
  }

  void use(Value buffer, ArrayRef<Value> outer) {
    auto known = index.find(storage(buffer, outer));
    if (known == index.end())
      return;
    BufferLifetime &life = lifetimes[known->second];
    life.first = std::min(life.first, first);
    life.last = std::max(life.last, last);
  }

  SymbolTable &symbols;
  const kern::SizeBounds &bounds;
  DenseMap<Value, size_t> index;
  int64_t first = 0, last = 0; ///< steps of the current use
};

struct PlanMemoryPass
    : public transom::impl::PlanMemoryPassBase<PlanMemoryPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    kern::SizeBounds bounds(getOperation());
    Remarks remarks(getOperation());
    getOperation().walk(
        [&](kern::AllocOp alloc) { pad(alloc, symbols, remarks); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic())
        plan(function, symbols, bounds, remarks);
  }

  /// Pads rows by a cache line if their distance is divisible by 4096 bytes
  /// (bf16 and bytes: 512).
  void pad(kern::AllocOp alloc, SymbolTable &symbols, Remarks &remarks) {
    // Only dense rows with such a distance are padded.
    auto type = cast<kern::BufferType>(alloc.getType());
    const bool isBytes = type.getElementType().isInteger(8);
    if (type.getRank() != 2 || type.getKeyPanels() || type.getStride() ||
        !(type.isF32() || type.isBf16() || isBytes))
      return;
    std::optional<int64_t> columns = type.getDims().back().constant();
    SmallVector<Value> names;
    if (!columns || *columns * type.getElementBytes() %
                        (type.isF32() ? kSetBytes : kSetBytesOfTiles))
      return;
    if (Operation *op = findDenseUser(alloc.getResult(), symbols, names)) {
      remarks.report(alloc, {RemarkId::RowsNotPadded,
                             {{"columns", *columns}, {"operation", op}}});
      return;
    }
    // Change the type of the buffer and its body arguments.
    int64_t stride = *columns + kLineBytes / type.getElementBytes();
    remarks.report(alloc, {RemarkId::RowsPadded,
                           {{"columns", *columns}, {"stride", stride}}});
    auto padded = kern::BufferType::get(&getContext(), type.getDims(),
                                        type.getElementType(), stride);
    for (Value name : names) {
      name.setType(padded);
      if (auto argument = dyn_cast<BlockArgument>(name))
        retype(cast<func::FuncOp>(argument.getOwner()->getParentOp()));
    }
    ++this->padded;
  }

  /// The first user of a buffer, including users in layer bodies, that does not
  /// accept a stride between rows, or null. Collects the buffer's `names`: the
  /// buffer itself and body arguments.
  static Operation *findDenseUser(Value buffer, SymbolTable &symbols,
                                  SmallVector<Value> &names) {
    if (llvm::is_contained(names, buffer))
      return nullptr;
    names.push_back(buffer);
    for (OpOperand &use : buffer.getUses()) {
      auto layers = dyn_cast<kern::LayersOp>(use.getOwner());
      auto op = dyn_cast<kern::BufferOp>(use.getOwner());
      if (!layers && !(op && op.acceptsStride()))
        return use.getOwner();
      if (!layers)
        continue;
      for (kern::LayerAttr layer : layers.getLayerRange()) {
        func::FuncOp body = layers.getBody(layer, symbols);
        if (Operation *user = findDenseUser(
                body.getArgument(use.getOperandNumber()), symbols, names))
          return user;
      }
    }
    return nullptr;
  }

  static void retype(func::FuncOp function) {
    function.setType(
        FunctionType::get(function.getContext(),
                          function.getBody().front().getArgumentTypes(), {}));
  }

  void plan(func::FuncOp entry, SymbolTable &symbols,
            const kern::SizeBounds &bounds, Remarks &remarks) {
    Lifetimes lives(entry, symbols, bounds);
    // An unused buffer takes no separate step, and a persistent buffer is
    // placed after all others.
    std::vector<BufferLifetime> planned = lives.lifetimes;
    for (auto [life, own, alloc] :
         llvm::zip_equal(planned, lives.lifetimes, lives.allocs)) {
      if (life.last < 0)
        life.first = life.last = own.first = own.last = 0;
      if (alloc.isKept())
        life.bytes = Polynomial();
    }
    MemoryPlan plan = planMemory(planned);
    // Append persistent buffers after the arena's shared part.
    for (auto [i, alloc] : llvm::enumerate(lives.allocs)) {
      if (!alloc.isKept())
        continue; // placed already
      const Polynomial &bytes = lives.lifetimes[i].bytes;
      plan.offsets[i] = plan.bytes;
      plan.bytes = plan.bytes + bytes;
      plan.lowerBound = plan.lowerBound + bytes;
      for (MemoryRegion &region : plan.regions)
        llvm::erase(region.buffers, i);
    }
    // Write the plan as attributes.
    Builder b(&getContext());
    SmallVector<Attribute> table;
    for (auto [i, alloc] : llvm::enumerate(lives.allocs)) {
      alloc.setSlotAttr(b.getI64IntegerAttr(i));
      SmallVector<NamedAttribute> entries(
          {b.getNamedAttr("offset", b.getStringAttr(plan.offsets[i].str())),
           b.getNamedAttr("bytes",
                          b.getStringAttr(lives.lifetimes[i].bytes.str())),
           b.getNamedAttr("first",
                          b.getI64IntegerAttr(lives.lifetimes[i].first)),
           b.getNamedAttr("last", b.getI64IntegerAttr(lives.lifetimes[i].last)),
           b.getNamedAttr("location",
                          b.getStringAttr(getModulePath(alloc.getLoc())))});
      if (alloc.isKept())
        entries.push_back(b.getNamedAttr("kept", b.getUnitAttr()));
      table.push_back(b.getDictionaryAttr(entries));
    }
    buffers += table.size();
    entry->setAttr("kern.buffers", b.getArrayAttr(table));
    entry->setAttr("kern.memory_steps", b.getStrArrayAttr(lives.steps));
    // Any GEMM in the entry may share its tiles.
    entry->setAttr("kern.counters", b.getI64IntegerAttr(productCounters));
    entry->setAttr("kern.arena_bytes", b.getStringAttr(plan.bytes.str()));
    entry->setAttr("kern.arena_lower_bound",
                   b.getStringAttr(plan.lowerBound.str()));
    report(entry, plan, remarks);
    reportSharing(entry, lives, plan, remarks);
  }

  /// Reports which buffers share memory, and which ones cannot.
  static void reportSharing(func::FuncOp entry, const Lifetimes &lives,
                            const MemoryPlan &plan, Remarks &remarks) {
    auto getName = [&](size_t buffer) {
      return getRemarkText(kern::AllocOp(lives.allocs[buffer]).getOperation());
    };
    RemarkArgument name("entry", entry.getSymName());
    for (const MemoryRegion &region : plan.regions) {
      if (region.buffers.size() < 2)
        continue; // alone in its memory
      std::vector<std::string> names;
      for (size_t buffer : region.buffers)
        names.push_back(getName(buffer));
      remarks.report(kern::AllocOp(lives.allocs[region.buffers.front()]),
                     {RemarkId::BuffersShareMemory,
                      {name,
                       {"buffers", names.size()},
                       {"bytes", region.bytes},
                       {"names", listTexts(std::move(names))}}});
    }
    for (const BuffersApart &pair : plan.apart)
      remarks.report(kern::AllocOp(lives.allocs[pair.buffer]),
                     {RemarkId::BuffersStayApart,
                      {name,
                       {"buffer", getName(pair.buffer)},
                       {"bytes", lives.lifetimes[pair.buffer].bytes},
                       {"other", getName(pair.other)},
                       {"other_bytes", lives.lifetimes[pair.other].bytes}}});
  }

  static void report(func::FuncOp entry, const MemoryPlan &plan,
                     Remarks &remarks) {
    if (plan.offsets.empty())
      return;
    RemarkReason reason(RemarkId::ArenaReachesBound,
                        {{"entry", entry.getSymName()},
                         {"bytes", plan.bytes},
                         {"buffers", plan.offsets.size()}});
    if (plan.bytes != plan.lowerBound) {
      reason.id = RemarkId::ArenaExceedsBound;
      reason.args.emplace_back("lower_bound", plan.lowerBound);
    }
    remarks.report(entry, reason);
  }
};

} // namespace
