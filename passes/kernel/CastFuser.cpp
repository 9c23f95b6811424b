// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each producer can do: a norm writes a second result, others write bf16
// instead of f32 when nothing else reads them.
#include "passes/kernel/CastFuser.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

const char *CastFuser::fuse() {
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
  if (auto norm = dyn_cast_or_null<kern::NormOp>(writer))
    return fuseIntoNorm(norm);
  if (auto gemm = dyn_cast_or_null<kern::GemmOp>(writer))
    return fuseIntoGemm(gemm);
  if (auto attention = dyn_cast_or_null<kern::AttentionOp>(writer))
    return fuseIntoAttention(attention);
  if (auto pool = dyn_cast_or_null<kern::PoolOp>(writer))
    return fuseIntoPool(pool);
  if (auto op = dyn_cast_or_null<kern::ElementwiseOp>(writer))
    return fuseIntoElementwise(op);
  if (auto rotary = dyn_cast_or_null<kern::RopeOp>(writer))
    return fuseIntoRope(rotary);
  return writer ? "what writes the buffer cannot round it"
                : "the buffer comes from outside";
}

const char *CastFuser::fuseIntoNorm(kern::NormOp norm) {
  if (norm.getOuts() != input || norm.getOutBf16())
    return "the norm writes another buffer";
  moveTarget(norm);
  bool alone = isOnlyReader();
  if (alone)
    norm.getOutsMutable().assign(target);
  else
    norm.getOutBf16Mutable().assign(target);
  erase(alone);
  return nullptr;
}

const char *CastFuser::fuseIntoGemm(kern::GemmOp gemm) {
  bool alone = isOnlyReader();
  if (gemm.getNormOut() == input && !gemm.getNormOutBf16()) {
    moveTarget(gemm);
    gemm.getNormOutBf16Mutable().assign(target);
    if (alone)
      gemm.getNormOutMutable().clear();
    erase(alone);
    return nullptr;
  }
  if (!alone)
    return "something else reads the product in f32";
  kern::WeightType weight = gemm.getWeight().getType();
  if (weight.getShape()[1] > kern::getMaxKBlock(weight.getElementType()))
    return "accumulators of a long k wait in the product's result";
  for (OpOperand &out : gemm.getOutsMutable())
    if (out.get() == input && !gemm.getNormGamma()) {
      moveTarget(gemm);
      out.set(target);
      erase(true);
      return nullptr;
    }
  return "the product writes another buffer";
}

const char *CastFuser::fuseIntoAttention(kern::AttentionOp attention) {
  if (attention.getOuts() != input || !isOnlyReader())
    return "something else reads the attention's result in f32";
  if (!cast<kern::BufferType>(attention.getQuery().getType()).isBf16())
    return "the attention is in f32";
  moveTarget(attention);
  attention.getOutsMutable().assign(target);
  erase(true);
  return nullptr;
}

const char *CastFuser::fuseIntoPool(kern::PoolOp pool) {
  if (pool.getOuts() != input || !isOnlyReader())
    return "something else reads the pooled rows in f32";
  moveTarget(pool);
  pool.getOutsMutable().assign(target);
  erase(true);
  return nullptr;
}

const char *CastFuser::fuseIntoRope(kern::RopeOp rotary) {
  if (rotary.getOuts() != input || !isOnlyReader())
    return "something else reads the rotated rows in f32";
  moveTarget(rotary);
  rotary.getOutsMutable().assign(target);
  erase(true);
  return nullptr;
}

const char *CastFuser::fuseIntoElementwise(kern::ElementwiseOp op) {
  if (op.getOuts() != input || !isOnlyReader())
    return "something else reads the elementwise result in f32";
  moveTarget(op);
  auto yield = cast<kern::YieldOp>(op.getBody().front().back());
  OpBuilder b(yield);
  yield.getValueMutable().assign(b.create<arith::TruncFOp>(
      op.getLoc(), b.getBF16Type(), yield.getValue()));
  op.getOutsMutable().assign(target);
  erase(true);
  return nullptr;
}
