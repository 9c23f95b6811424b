// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses a cast into the operation that writes its input, where that operation
// can round its result (BufferOp::canRoundOutput).
#include "passes/kernel/CastFuser.h"
#include "dialects/common/Location.h"
#include "passes/kernel/BufferUses.h"

using namespace mlir;
using namespace transom;

bool transom::writes(Operation &op, Value storage) {
  if (auto buffer = dyn_cast<kern::BufferOp>(op))
    return llvm::any_of(buffer.writtenBuffers(), [&](Value written) {
      return kern::getStorage(written) == storage;
    });
  // A body may write all that layers are given.
  return isa<kern::LayersOp>(op) &&
         llvm::any_of(op.getOperands(), [&](Value operand) {
           return kern::getStorage(operand) == storage;
         });
}

Operation *transom::lastWriterBefore(Operation *op, Value storage) {
  for (Operation *at = op->getPrevNode(); at; at = at->getPrevNode())
    if (writes(*at, storage))
      return at;
  return nullptr;
}

/// The buffer that an elementwise operation only copies to another of its
/// sizes, or null.
static Value copiedBy(Operation *op) {
  auto copy = dyn_cast_or_null<kern::ElementwiseOp>(op);
  if (!copy || copy.getInputs().size() != 1 ||
      copy.getInputs()[0].getType() != copy.getOuts().getType())
    return {};
  Block &block = copy.getBody().front();
  auto yield = cast<kern::YieldOp>(block.back());
  return yield.getValue() == block.getArgument(0) ? copy.getInputs()[0]
                                                  : Value();
}

CastFuser::CastFuser(kern::CastOp rounding)
    : rounding(rounding), input(rounding.getInput()),
      target(rounding.getOuts()) {}

bool CastFuser::isOnlyReader() {
  return onlyReader(input) == rounding.getOperation();
}

void CastFuser::moveTarget(Operation *writer) {
  Operation *alloc = target.getDefiningOp();
  if (alloc && !alloc->isBeforeInBlock(writer))
    alloc->moveBefore(writer);
  writer->setLoc(fuseLocations(writer->getContext(),
                               {writer->getLoc(), rounding.getLoc()}));
}

void CastFuser::erase(bool withInput) {
  rounding.erase();
  if (withInput)
    input.getDefiningOp()->erase();
}

StringRef CastFuser::fuse() {
  Operation *writer = lastWriterBefore(rounding, kern::getStorage(input));
  // A copy is as good as what it copies, which nobody has changed since.
  if (Value original = copiedBy(writer);
      original && original.getDefiningOp<kern::AllocOp>()) {
    Operation *other = lastWriterBefore(rounding, original);
    if (other && other->isBeforeInBlock(writer)) {
      rounding.getInputMutable().assign(original);
      input = original;
      writer = other;
    }
  }
  auto op = dyn_cast_or_null<kern::BufferOp>(writer);
  if (!op)
    return writer ? "what writes the buffer cannot round it"
                  : "the buffer comes from outside";
  bool onlyRounded = isOnlyReader();
  StringRef reason;
  if (!op.canRoundOutput(input, onlyRounded, reason))
    return reason;
  moveTarget(op);
  op.roundOutput(input, target, onlyRounded);
  erase(onlyRounded);
  return {};
}
