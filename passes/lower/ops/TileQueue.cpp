// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An atomic addition takes a tile; if none is left, the attempt costs only a
// load.
#include "passes/lower/ops/TileQueue.h"
#include "runtime/abi/Layout.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

bool TileQueue::canShare(kern::GemmOp op) {
  int64_t numProducts = 0;
  op->getParentOfType<kern::PhaseOp>().walk(
      [&](kern::GemmOp) { ++numProducts; });
  return numProducts == 1 && op.getSummary().empty();
}

TileQueue::TileQueue(PhaseEmitter &e, kern::GemmOp op, Bool ownsRows,
                     Index numCounters)
    : e(e), numCounters(numCounters) {
  if (!canShare(op))
    return;
  counters = e.counters();
  Index address(e, e.builder().create<LLVM::PtrToIntOp>(e.location(),
                                                        e.i64Type(), counters));
  Bool few =
      logicalAnd(e.numWorkers() <= sharingWorkers, numCounters <= tileCounters);
  Bool several = logicalAnd(1 < e.numWorkers(), logicalNot(address == 0));
  shared = logicalAnd(ownsRows, logicalAnd(few, several));
}

void TileQueue::forOwners(function_ref<void(Index)> body) {
  if (!shared)
    return body(e.worker());
  e.forLoop(e.i64(0), select(*shared, e.numWorkers(), 1), 1,
            [&](Index i) { body((e.worker() + i) % e.numWorkers()); });
}

void TileQueue::forTiles(const Counter &counter, Index first, Index end,
                         function_ref<void(Index)> body) {
  if (!shared)
    return e.forLoop(first, end, 1, body);
  Value place =
      e.advance(counters, (counter.owner * tileCounters + counter.number) * 8);
  e.forLoop(first, end, 1, [&](Index position) {
    auto takeNext = [&]() -> Value {
      Bool some = e.loadI64(place) < end;
      return e.choose(
          some, [&] { return Value(e.atomicAdd(place, e.i64(1))); },
          [&] { return Value(end); });
    };
    Index tile(e, e.choose(*shared, takeNext, [&] { return Value(position); }));
    e.ifThen(tile < end, [&] { body(tile); });
  });
}

void TileQueue::finish() {
  if (!shared)
    return;
  e.ifThen(*shared, [&] {
    Value done = e.advance(counters, sharingWorkers * tileCounters * 8);
    Index before = e.atomicAdd(done, e.i64(1));
    e.ifThen(before == e.numWorkers() - 1, [&] {
      e.forLoop(e.i64(0), e.numWorkers(), 1, [&](Index owner) {
        Value own = e.advance(counters, owner * (tileCounters * 8));
        e.forLoop(e.i64(0), numCounters, 1,
                  [&](Index i) { e.store(e.i64(0), e.advance(own, i * 8)); });
      });
      e.store(e.i64(0), done);
    });
  });
}
