// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses a rounding operation into the operation that writes its input, if that
// one can round its result (BufferOp::canRoundOutput).
#include "passes/kernel/CastFuser.h"
#include "passes/kernel/BufferUses.h"

using namespace mlir;
using namespace transom;

bool transom::writes(Operation &op, Value storage) {
  if (auto buffer = dyn_cast<kern::BufferOp>(op))
    return llvm::any_of(buffer.writtenBuffers(), [&](Value written) {
      return kern::getStorage(written) == storage;
    });
  // A body may write all operands of layers.
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

/// The buffer that an elementwise operation copies to another one with the same
/// type, or null.
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

std::optional<kern::RoundedBuffer> transom::getRounded(Operation *op) {
  if (auto cast = dyn_cast<kern::CastOp>(op))
    return kern::RoundedBuffer{cast.getOuts()};
  if (auto quantize = dyn_cast<kern::QuantizeOp>(op))
    return kern::RoundedBuffer{quantize.getOuts(), quantize.getScales()};
  return std::nullopt;
}

CastFuser::CastFuser(Operation *rounding)
    : rounding(rounding), input(rounding->getOperand(0)),
      target(*getRounded(rounding)) {}

bool CastFuser::isOnlyReader() { return onlyReader(input) == rounding; }

void CastFuser::moveTargets(Operation *writer) {
  for (Value buffer : {target.numbers, target.scales}) {
    Operation *alloc = buffer ? buffer.getDefiningOp() : nullptr;
    if (alloc && !alloc->isBeforeInBlock(writer))
      alloc->moveBefore(writer);
  }
}

void CastFuser::erase(bool withInput) {
  rounding->erase();
  if (withInput && input.use_empty())
    input.getDefiningOp()->erase();
}

/// The remark for an obstacle that keeps an operation from rounding a buffer.
static RemarkReason getReason(kern::RoundObstacle obstacle, Operation *writer,
                              Operation *rounding) {
  // Each obstacle has its own remark with the values that explain it.
  switch (obstacle) {
  case kern::RoundObstacle::NotSupported:
    break;
  case kern::RoundObstacle::ReadInF32:
    return {RemarkId::CastInputIsReadInF32,
            {{"writer", writer},
             {"readers", getBufferReaders(rounding->getOperand(0), rounding)}}};
  case kern::RoundObstacle::AnotherResult:
    return {RemarkId::CastOfAnotherResult, {{"writer", writer}}};
  case kern::RoundObstacle::LongK: {
    kern::WeightType weight =
        llvm::cast<kern::GemmOp>(writer).getWeight().getType();
    return {RemarkId::CastWaitsForLongK,
            {{"writer", writer},
             {"k", weight.getShape()[1]},
             {"limit", kern::getMaxKBlock(weight)}}};
  }
  case kern::RoundObstacle::Summary:
    return {RemarkId::CastOfSummarizedRows, {{"writer", writer}}};
  case kern::RoundObstacle::SeveralResults:
    return {RemarkId::CastOfOneOfSeveral, {{"writer", writer}}};
  case kern::RoundObstacle::SplitGroups: {
    auto attention = llvm::cast<kern::AttentionOp>(writer);
    const kern::RoundedBuffer rounded = *getRounded(rounding);
    const int64_t columns =
        *getBufferType(attention.getOuts()).getDims().back().constant();
    return {RemarkId::CastOfSplitGroups,
            {{"writer", writer},
             {"columns", columns / int64_t(attention.getHeads())},
             {"group",
              *kern::findQuantizedGroup(rounded.numbers, rounded.scales)}}};
  }
  case kern::RoundObstacle::AttentionInF32:
    return {RemarkId::CastOfF32Attention, {{"writer", writer}}};
  }
  return {RemarkId::CastStaysWithWriter, {{"writer", writer}}};
}

std::optional<RemarkReason> CastFuser::fuse() {
  Operation *writer = lastWriterBefore(rounding, kern::getStorage(input));
  // The input of a copy is equivalent if it has not changed since.
  if (Value original = copiedBy(writer);
      original && original.getDefiningOp<kern::AllocOp>()) {
    Operation *other = lastWriterBefore(rounding, original);
    if (other && other->isBeforeInBlock(writer)) {
      rounding->setOperand(0, original);
      input = original;
      writer = other;
    }
  }
  // Fuse if the writer can round its output.
  auto op = dyn_cast_or_null<kern::BufferOp>(writer);
  if (!writer)
    return RemarkReason(RemarkId::CastReadsArgument);
  if (!op)
    return RemarkReason(RemarkId::CastStaysWithWriter, {{"writer", writer}});
  bool onlyRounded = isOnlyReader();
  kern::RoundObstacle obstacle = kern::RoundObstacle::NotSupported;
  if (!op.canRoundOutput(input, target, onlyRounded, obstacle))
    return getReason(obstacle, op, rounding);
  moveTargets(op);
  op.roundOutput(input, target, onlyRounded);
  erase(onlyRounded);
  return std::nullopt;
}
