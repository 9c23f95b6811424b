// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that are contiguous on both sides are copied by vectors, others element
// by element.
#include "passes/lower/ops/StridedCopy.h"
#include "mlir/IR/Matchers.h"
#include "passes/Remarks.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

SmallVector<Index> lower::emitSizes(PhaseEmitter &e,
                                    ArrayRef<Polynomial> dims) {
  SmallVector<Index> sizes;
  for (const Polynomial &dim : dims)
    sizes.push_back(e.size(dim));
  return sizes;
}

SmallVector<Index> lower::emitStrides(PhaseEmitter &e, kern::BufferType type) {
  SmallVector<Polynomial> dims = type.getDims();
  SmallVector<Index> strides(dims.size());
  Polynomial stride(1);
  for (int64_t i = int64_t(dims.size()) - 1; i >= 0; --i) {
    strides[i] = e.size(stride);
    stride =
        i + 1 == int64_t(dims.size()) ? type.getRowStride() : stride * dims[i];
  }
  return strides;
}

Index lower::emitBroadcastOffset(PhaseEmitter &e, Index row,
                                 ArrayRef<Polynomial> dims,
                                 ArrayRef<Polynomial> operandDims,
                                 const Polynomial &operandRowStride) {
  ArrayRef<Polynomial> outer = dims.drop_back();
  ArrayRef<Polynomial> operandOuter =
      operandDims.empty() ? operandDims : operandDims.drop_back();
  if (outer == operandOuter)
    return row * e.size(operandRowStride);

  // Decompose the row into indices, the innermost first. A broadcast dimension
  // with size 1 adds nothing.
  Index offset = e.i64(0), rest = row;
  Polynomial stride = operandRowStride;
  int64_t shift = outer.size() - operandOuter.size();
  for (int64_t i = int64_t(outer.size()) - 1; i >= shift; --i) {
    Index extent = e.size(outer[i]);
    const Polynomial &own = operandOuter[i - shift];
    if (own != Polynomial(1) || outer[i] == Polynomial(1))
      offset = offset + rest % extent * e.size(stride);
    rest = rest / extent;
    stride = stride * own;
  }
  return offset;
}

/// The source and target offsets for outer index `index`.
static IndexPair emitOuterOffsets(PhaseEmitter &e, const StridedCopy &copy,
                                  Index index) {
  Index source = e.i64(0), target = e.i64(0);
  for (int64_t i = int64_t(copy.sizes.size()) - 2; i >= 0; --i) {
    Index own = index % copy.sizes[i];
    index = index / copy.sizes[i];
    source = source + own * copy.sourceStrides[i];
    target = target + own * copy.targetStrides[i];
  }
  return {source, target};
}

static bool isConstantOne(Value value) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) && constant == 1;
}

void lower::emitStridedCopy(PhaseEmitter &e, Operation *op,
                            const StridedCopy &copy) {
  int64_t bytes =
      std::max<int64_t>(1, copy.element.getIntOrFloatBitWidth() / 8);
  Type memory =
      copy.element.isInteger(1) ? Type(e.builder().getI8Type()) : copy.element;

  // The outer dimensions are divided among the workers.
  Index outer = e.i64(1);
  for (Index size : ArrayRef(copy.sizes).drop_back())
    outer = outer * size;
  Index inner = copy.sizes.back();
  bool dense = isConstantOne(copy.sourceStrides.back()) &&
               isConstantOne(copy.targetStrides.back());
  if (!dense)
    e.getModuleInfo().getRemarks().report(
        op, {RemarkId::CopiedByElement, {{"operation", op}}});

  e.forWorkerRange(outer, [&](Index index) {
    auto [sourceOffset, targetOffset] = emitOuterOffsets(e, copy, index);
    Value source = e.advance(copy.source, sourceOffset * bytes);
    Value target = e.advance(copy.target, targetOffset * bytes);
    // Copy a row by vectors if its elements are consecutive, otherwise one by
    // one.
    if (dense) {
      e.forColumns(inner, [&](Index column, Value mask) {
        Index at = column * bytes;
        e.storeVector(e.loadVector(memory, e.advance(source, at), mask),
                      e.advance(target, at), mask);
      });
      return;
    }
    e.forRange(inner, [&](Index column) {
      Value from =
          e.advance(source, column * copy.sourceStrides.back() * bytes);
      Value to = e.advance(target, column * copy.targetStrides.back() * bytes);
      e.store(e.load(memory, from), to);
    });
  });
}
