// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts tokens by group, and combines group rows by token. The sort needs no
// barrier: each worker owns some groups, and reads all group numbers to find
// where they begin. The table is therefore the same for any worker count.
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
/// Sorts the elements in this worker's groups.
class GroupEmitter {
public:
  GroupEmitter(PhaseEmitter &e, kern::GroupTokensOp op)
      : e(e), op(op),
        isI32(getBufferType(op.getGroups()).getElementBytes() == 4),
        numGroups(e.i64(op.getNumGroups())),
        choices(e.numColumns(op.getGroups())),
        count(e.numRows(op.getGroups()) * choices),
        range(e.workerRange(numGroups)) {}

  void emit() {
    clearOffsets();
    Index below = countElements();
    Index end = makeOffsets(below);
    // One worker has the last group, which ends where the list does.
    e.ifThen(e.worker() == e.numWorkers() - 1,
             [&] { e.storeSize(op.getSize(), end); });
    placeElements();
    placeOthers();
  }

private:
  /// The group number of an element.
  Index loadGroup(Index element) {
    Value table = e.pointer(op.getGroups());
    return isI32 ? e.loadI32(table, element)
                 : e.loadI64(e.advance(table, element * 8));
  }
  Value offset(Index group) {
    return e.advance(e.pointer(op.getOffsets()), group * 8);
  }
  Bool isOwn(Index group) {
    return logicalAnd(range.first <= group, group < range.second);
  }
  void store(Value buffer, Index element, Index value) {
    e.store(value, e.advance(e.pointer(buffer), element * 8));
  }

  /// Element g + 1 in the offsets belongs to the worker with group g, element 0
  /// to the first worker.
  void clearOffsets() {
    e.ifThen(e.worker() == 0, [&] { e.store(e.i64(0), offset(e.i64(0))); });
    e.forLoop(range.first, range.second, 1,
              [&](Index group) { e.store(e.i64(0), offset(group + 1)); });
  }

  /// Counts the elements in each own group in the offsets; returns the element
  /// count in earlier groups.
  Index countElements() {
    return e.foldRange(
        e.i64(0), count, e.i64(0), [&](Index element, Index below) {
          Index group = loadGroup(element);
          e.ifThen(isOwn(group), [&] {
            Value at = offset(group + 1);
            e.store(e.loadI64(at) + 1, at);
          });
          Bool isBelow = logicalAnd(0 <= group, group < range.first);
          return below + select(isBelow, 1, 0);
        });
  }

  /// Replaces the counts by the index at which each group begins; returns the
  /// end of the last group.
  Index makeOffsets(Index below) {
    return e.foldRange(range.first, range.second, below,
                       [&](Index group, Index begin) {
                         Value at = offset(group + 1);
                         Index size = e.loadI64(at);
                         e.store(begin, at);
                         return begin + size;
                       });
  }

  /// Appends each element to its group. Afterwards, the offsets are the group
  /// ends, which equal the next groups' begins.
  void placeElements() {
    e.forRange(count, [&](Index element) {
      Index group = loadGroup(element);
      e.ifThen(isOwn(group), [&] {
        Value at = offset(group + 1);
        Index position = e.loadI64(at);
        e.store(position + 1, at);
        store(op.getTokens(), position, element / choices);
        store(op.getPositions(), element, position);
      });
    });
  }

  /// Writes the positions for elements without a group, a share of all elements
  /// per worker.
  void placeOthers() {
    e.forWorkerRange(count, [&](Index element) {
      Index group = loadGroup(element);
      Bool isInGroup = logicalAnd(0 <= group, group < numGroups);
      e.ifThen(logicalNot(isInGroup),
               [&] { store(op.getPositions(), element, e.i64(-1)); });
    });
  }

  PhaseEmitter &e;
  kern::GroupTokensOp op;
  bool isI32;
  Index numGroups;
  Index choices;   ///< group numbers per token
  Index count;     ///< elements in all groups
  IndexPair range; ///< this worker's groups
};
} // namespace

static void lowerGroupTokens(PhaseEmitter &e, kern::GroupTokensOp op) {
  GroupEmitter(e, op).emit();
}

static void lowerCombineGroups(PhaseEmitter &e, kern::CombineGroupsOp op) {
  Index choices = e.numColumns(op.getPositions());
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row out = getRow(e, op.getOuts(), row);
    Index first = row * choices;
    e.forColumns(e.numColumns(op.getOuts()), [&](Index column, Value mask) {
      Value sum = e.foldLoop(
          first, first + choices, 1, e.splat(0.0),
          [&](Index element, Value sum) {
            Index position =
                e.loadI64(e.advance(e.pointer(op.getPositions()), element * 8));
            Value scale = e.splat(
                e.loadF32(e.advance(e.pointer(op.getScales()), element * 4)));
            // A loop with zero iterations if there is no position, or one.
            return e.foldLoop(e.i64(0), select(0 <= position, 1, 0), 1, sum,
                              [&](Index, Value sum) {
                                Row in = getRow(e, op.getInput(), position);
                                return e.fma(scale, in.load(column, mask), sum);
                              });
          });
      out.store(sum, column, mask);
    });
  });
}

void lower::addGroupLowerings(Lowerings &lowerings) {
  lowerings.add<kern::GroupTokensOp, lowerGroupTokens>();
  lowerings.add<kern::CombineGroupsOp, lowerCombineGroups>();
}
