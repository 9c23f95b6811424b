// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a barrier only where a worker may need another worker's results.
#include "dialects/common/Location.h"
#include "dialects/kern/SizeBounds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/HeadRanges.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-form-phases"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FORMPHASESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// Maximum operations per phase: LLVM's time grows faster than the function
/// size, and buffers in one phase share no memory.
static constexpr size_t kMaxOperations = 64;

/// True if both operations own the rows of this buffer: then each worker
/// accesses only rows that it wrote itself.
static bool sameRows(kern::BufferOp a, kern::BufferOp b, Value buffer) {
  std::optional<Polynomial> rows = a.ownedRows(), others = b.ownedRows();
  return rows && others && *rows == *others &&
         cast<kern::BufferType>(buffer.getType()).getRowCount() == *rows &&
         !buffer.getDefiningOp<kern::ViewOp>();
}

/// True if one operation writes a cache that the other may access. Owned rows
/// do not determine which rows of a sequence another operation reads.
static bool meetInCache(kern::BufferOp a, kern::BufferOp b) {
  return a.getAccessedCache() && b.getAccessedCache() &&
         (a.writesCache() || b.writesCache());
}

/// True if neither operation accesses a buffer that the other one writes,
/// except rows that each worker owns in both.
static bool independent(kern::BufferOp earlier, kern::BufferOp later) {
  auto clear = [&](kern::BufferOp writer, ArrayRef<Value> written,
                   ArrayRef<Value> touched, kern::BufferOp other) {
    for (Value buffer : written)
      for (Value use : touched)
        if (kern::getStorage(buffer) == kern::getStorage(use) &&
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

/// The operations in a phase, and its readers and writers by buffer.
struct Group {
  SmallVector<kern::BufferOp> ops;
  DenseMap<Value, SmallVector<kern::BufferOp, 1>> readers, writers;
  SmallVector<kern::BufferOp> cached; ///< append to a cache or read one
  /// The operation in an earlier phase that the first operation waits for.
  Operation *waitsFor = nullptr;
  bool followsFull = false; ///< the previous phase was full
};

/// Distributes a function's operations, in order, over phases. For each buffer
/// it records the last phases that access it, so that an operation is compared
/// only with the operations in one phase.
class PhaseCutter {
public:
  explicit PhaseCutter(const kern::SizeBounds &bounds) : bounds(bounds) {}

  /// Adds an operation; returns true if it joins a phase with others.
  bool add(kern::BufferOp op);
  /// Later operations do not join any existing phase.
  void close() { open = groups.size(); }

  SmallVector<Group> groups;

private:
  /// One plus the index of the last phase with such an access; 0 if there is
  /// none.
  struct Touched {
    size_t written = 0, read = 0;
  };

  size_t findBlocking(kern::BufferOp op);
  size_t findBlockingSize(kern::BufferOp op);
  size_t findRoom(size_t first);
  bool fits(const Group &group, kern::BufferOp next);
  void remember(kern::BufferOp op, size_t index);
  void explain(kern::BufferOp op, size_t earliest);

  const kern::SizeBounds &bounds;
  DenseMap<Value, Touched> buffers;
  std::map<std::string, Touched> sizes;
  size_t lastOneDnn = 0, lastAppend = 0, lastCached = 0;
  size_t open = 0; ///< first phase after the last layers
  /// The phase to try instead of a full one; a phase with room refers to
  /// itself.
  SmallVector<size_t> rooms;
};

} // namespace

static bool readsCache(kern::BufferOp op) {
  auto attention = dyn_cast<kern::AttentionOp>(op.getOperation());
  return attention && attention.getCache();
}

/// True if an operation may run concurrently with all operations in a phase.
/// Only operations that access the same buffers can conflict.
bool PhaseCutter::fits(const Group &group, kern::BufferOp next) {
  auto agrees = [&](ArrayRef<kern::BufferOp> others) {
    return llvm::all_of(others, [&](kern::BufferOp earlier) {
      return independent(earlier, next);
    });
  };
  auto agreesOn = [&](const auto &others, Value buffer) {
    auto found = others.find(kern::getStorage(buffer));
    return found == others.end() || agrees(found->second);
  };
  return !isa<kern::OneDnnOp>(group.ops.front()) && agrees(group.cached) &&
         llvm::all_of(
             next.readBuffers(),
             [&](Value buffer) { return agreesOn(group.writers, buffer); }) &&
         llvm::all_of(next.writtenBuffers(), [&](Value buffer) {
           return agreesOn(group.writers, buffer) &&
                  agreesOn(group.readers, buffer);
         });
}

/// One plus the index of the last phase that the operation must follow
/// completely; 0 if it may run before all phases.
size_t PhaseCutter::findBlocking(kern::BufferOp op) {
  size_t last = lastOneDnn;
  for (Value buffer : op.readBuffers())
    last = std::max(last, buffers.lookup(kern::getStorage(buffer)).written);
  for (Value buffer : op.writtenBuffers()) {
    Touched touched = buffers.lookup(kern::getStorage(buffer));
    last = std::max({last, touched.written, touched.read});
  }
  if (isa<kern::AppendOp>(op))
    last = std::max({last, lastAppend, lastCached});
  else if (readsCache(op))
    last = std::max(last, lastAppend);
  return last;
}

/// The same for the bounded sizes that an operation reads and writes. Workers
/// read sizes when a phase begins, so an operation cannot be in the same phase
/// as the operation that writes a size it reads.
size_t PhaseCutter::findBlockingSize(kern::BufferOp op) {
  size_t last = 0;
  if (bounds.isEmpty())
    return last;
  for (const std::string &size : bounds.getUsed(op))
    last = std::max(last, sizes[size].written);
  if (FlatSymbolRefAttr size = op.getWrittenSize()) {
    Touched touched = sizes[size.getValue().str()];
    last = std::max({last, touched.written, touched.read});
  }
  return last;
}

/// The first phase from `first` on that is not full.
size_t PhaseCutter::findRoom(size_t first) {
  size_t room = first;
  while (room < rooms.size() && rooms[room] != room)
    room = rooms[room];
  // Shorten the path for the next search.
  while (first < rooms.size() && rooms[first] != first)
    first = std::exchange(rooms[first], room);
  return room;
}

void PhaseCutter::remember(kern::BufferOp op, size_t index) {
  auto raise = [&](size_t &last) { last = std::max(last, index + 1); };
  // Record the buffers.
  Group &group = groups[index];
  group.ops.push_back(op);
  for (Value buffer : op.readBuffers()) {
    group.readers[kern::getStorage(buffer)].push_back(op);
    raise(buffers[kern::getStorage(buffer)].read);
  }
  for (Value buffer : op.writtenBuffers()) {
    group.writers[kern::getStorage(buffer)].push_back(op);
    raise(buffers[kern::getStorage(buffer)].written);
  }
  // Record the sizes, the caches, and the order of calls.
  if (!bounds.isEmpty())
    for (const std::string &size : bounds.getUsed(op))
      raise(sizes[size].read);
  if (FlatSymbolRefAttr size = op.getWrittenSize())
    raise(sizes[size.getValue().str()].written);
  if (isa<kern::AppendOp>(op) || readsCache(op))
    group.cached.push_back(op);
  if (isa<kern::OneDnnOp>(op))
    raise(lastOneDnn);
  if (isa<kern::AppendOp>(op))
    raise(lastAppend);
  if (readsCache(op))
    raise(lastCached);
}

/// Records the reason why an operation begins a phase. `earliest` is the first
/// phase that it may join.
void PhaseCutter::explain(kern::BufferOp op, size_t earliest) {
  Group &group = groups.back();
  group.followsFull = earliest < groups.size() - 1;
  if (earliest <= open)
    return;
  const Group &earlier = groups[earliest - 1];
  for (kern::BufferOp other : llvm::reverse(earlier.ops))
    if (!independent(other, op) || other.getWrittenSize() ||
        isa<kern::OneDnnOp>(*other)) {
      group.waitsFor = other;
      return;
    }
  if (earlier.ops.size() == kMaxOperations)
    group.followsFull = true;
  else
    group.waitsFor = earlier.ops.back(); // a bounded size
}

bool PhaseCutter::add(kern::BufferOp op) {
  // The operation may run concurrently with each phase after the last one that
  // it depends on, and with that one if their workers own the same rows.
  size_t blocking = findBlocking(op);
  size_t first = std::max(open, findBlockingSize(op));
  size_t index = std::max(first, blocking);
  if (blocking > first && groups[blocking - 1].ops.size() < kMaxOperations &&
      fits(groups[blocking - 1], op))
    index = blocking - 1;
  size_t earliest = index;
  index = isa<kern::OneDnnOp>(op) ? groups.size() : findRoom(index);

  bool joins = index < groups.size();
  if (!joins) {
    groups.emplace_back();
    rooms.push_back(index);
    explain(op, earliest);
  }
  remember(op, index);
  if (groups[index].ops.size() == kMaxOperations)
    rooms[index] = index + 1;
  return joins;
}

namespace {

struct FormPhasesPass
    : public transom::impl::FormPhasesPassBase<FormPhasesPass> {
  void runOnOperation() override {
    kern::SizeBounds bounds(getOperation());
    Remarks remarks(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      formPhases(function, bounds, remarks);
    setHeadRanges(getOperation(), remarks);
  }

  void formPhases(func::FuncOp function, const kern::SizeBounds &bounds,
                  Remarks &remarks) {
    PhaseCutter cutter(bounds);
    int64_t count = 0, joins = 0;
    SmallVector<Operation *> operations;
    for (Operation &op : function.getBody().front())
      operations.push_back(&op);
    for (Operation *op : operations) {
      if (auto next = dyn_cast<kern::BufferOp>(op)) {
        ++count;
        joins += cutter.add(next);
      } else if (isa<kern::LayersOp>(op))
        cutter.close(); // layers end a phase; definitions move to the front
    }
    hoistDefinitions(operations);
    for (auto [i, group] : llvm::enumerate(cutter.groups))
      report(makePhase(function, i, group.ops), group, remarks);
    joined += joins;
    if (!cutter.groups.empty())
      remarks.report(function, {RemarkId::PhasesFormed,
                                {{"body", function.getSymName()},
                                 {"phases", cutter.groups.size()},
                                 {"operations", count},
                                 {"joined", joins}}});
  }

  /// Reports the reason why a phase begins.
  static void report(kern::PhaseOp phase, const Group &group,
                     Remarks &remarks) {
    Operation *first = group.ops.front();
    RemarkReason reason(
        RemarkId::PhaseIsFirst,
        {{"phase", phase.getName()}, {"operations", group.ops.size()}});
    if (isa<kern::OneDnnOp>(first)) {
      reason = {RemarkId::PhaseIsACall, {{"phase", phase.getName()}}};
    } else if (group.waitsFor) {
      reason.id = RemarkId::PhaseWaits;
      reason.args.emplace_back("operation", first);
      reason.args.emplace_back("earlier", group.waitsFor);
    } else if (group.followsFull) {
      reason.id = RemarkId::PhaseFollowsFull;
      reason.args.emplace_back("limit", kMaxOperations);
    }
    remarks.report(phase, reason);
  }

  /// Moves allocations, views, weights and ragged batches to the front, in
  /// their order.
  static void hoistDefinitions(ArrayRef<Operation *> operations) {
    Operation *last = nullptr;
    for (Operation *op : operations) {
      if (!op->hasTrait<kern::IsDefinition>())
        continue;
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&op->getBlock()->front());
      last = op;
    }
  }

  /// The operation that names the phase: the first GEMM, matmul or attention,
  /// or else the first operation that reads a buffer.
  static kern::BufferOp findMainOp(ArrayRef<kern::BufferOp> group) {
    for (kern::BufferOp op : group)
      if (isa<kern::GemmOp, kern::AttentionOp, kern::BatchMatmulOp,
              kern::GroupGemmOp, kern::HeadGemmOp>(op.getOperation()))
        return op;
    for (kern::BufferOp op : group)
      if (!op.readBuffers().empty())
        return op;
    return group.front();
  }

  kern::PhaseOp makePhase(func::FuncOp function, size_t index,
                          ArrayRef<kern::BufferOp> group) {
    OpBuilder b(group.front());
    SmallVector<Location> locations;
    for (kern::BufferOp op : group)
      locations.push_back(op.getLoc());
    kern::BufferOp main = findMainOp(group);
    std::string what = main->getName().stripDialect().str();
    if (auto call = dyn_cast<kern::OneDnnOp>(*main))
      what += "_" + stringifyOneDnnPrimitive(call.getPrimitive()).str();
    std::string name =
        (function.getSymName() + "." + std::to_string(index) + "." + what)
            .str();
    auto phase = b.create<kern::PhaseOp>(
        fuseLocations(&getContext(), locations), b.getStringAttr(name));
    Block *body = b.createBlock(&phase.getBody());
    for (kern::BufferOp op : group)
      op->moveBefore(body, body->end());
    ++phases;
    return phase;
  }
};

} // namespace
