// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds a group's integer sum to an f32 sum: times both operands' scales, plus
// the column's offset times the row's element sum. Also converts weights to
// f32.
#include "passes/lower/microkernel/MicroKernelBody.h"
#include "runtime/abi/Layout.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The max magnitude of a byte, and the limit up to which f32 represents all
/// integers.
static constexpr int64_t maxByte = 127, exactInFloat = int64_t(1) << 24;

GroupRow::GroupRow(CodeEmitter &e, const KernelSpec &spec,
                   const KernelArgs &args, Index group, Index row) {
  Value at =
      e.advance(args.lhsScales, (group * 2 + row * *spec.lhsScaleStride) * 4);
  scale = e.loadF32(at);
  if (spec.rhs->getRhsOffset(e.getIsa()) || spec.rhs->getFormat().minimums)
    sum = e.loadF32(e.advance(at, 4));
}

/// Loads the vectors for a tile row.
static SmallVector<Value> loadAll(CodeEmitter &e, StorageType type,
                                  Value pointer, int64_t vectors) {
  SmallVector<Value> all;
  for (int64_t v = 0; v < vectors; ++v)
    all.push_back(e.loadFloats(
        type, e.advance(pointer, v * kLanes * getStorageBits(type) / 8)));
  return all;
}

GroupColumns::GroupColumns(CodeEmitter &e, const KernelSpec &spec,
                           const KernelArgs &args, Index group, int64_t size)
    : offset(spec.rhs->getRhsOffset(e.getIsa())),
      largest(size * maxByte * (maxByte + offset)) {
  const OperandFormat &format = spec.rhs->getFormat();
  const int64_t vectors = spec.getVectors(e.getIsa());
  Value at = e.advance(
      e.advance(args.rhsScales, spec.rhs->getDepthBytes(group * format.group)),
      format.getGroupBytes(size));
  scales = loadAll(e, *format.scales, at, vectors);
  if (format.minimums)
    minimums =
        loadAll(e, *format.minimums,
                e.advance(at, panelWidth * format.getScaleBytes()), vectors);
}

Value GroupColumns::addGroup(CodeEmitter &e, const GroupRow &row,
                             int64_t vector, Value whole, Value sum) const {
  OpBuilder &b = e.builder();
  auto toFloat = [&](Value x) -> Value {
    return b.create<arith::SIToFPOp>(e.location(), e.f32Vector(), x);
  };
  Value number;
  if (!offset) {
    number = toFloat(whole);
  } else if (largest <= exactInFloat) {
    number = e.fma(e.splat(row.sum), e.splat(double(-offset)), toFloat(whole));
  } else {
    Value others = b.create<arith::FPToSIOp>(
        e.location(), b.getI32Type(), e.mulF(row.sum, e.f32(double(-offset))));
    number =
        toFloat(b.create<arith::AddIOp>(e.location(), whole, e.splat(others)));
  }
  sum = e.fma(number, e.mulF(e.splat(row.scale), scales[vector]), sum);
  if (minimums.empty())
    return sum;
  return e.fma(e.splat(e.mulF(row.scale, row.sum)), minimums[vector], sum);
}

Value GroupColumns::dequantize(CodeEmitter &e, int64_t vector,
                               Value whole) const {
  return minimums.empty() ? e.mulF(whole, scales[vector])
                          : e.fma(whole, scales[vector], minimums[vector]);
}
