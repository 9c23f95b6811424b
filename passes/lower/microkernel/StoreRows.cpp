// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue for a tile row whose sums are in memory: the activation, the
// residual, and the store as an output row.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom::lower;

/// Combines two vectors, or one, with alternating groups of eight g and eight
/// u.
static void emitStoreGlu(CodeEmitter &e, const KernelSpec &spec,
                         const KernelArgs &args, Value out, bool partial,
                         function_ref<Value(int64_t)> getSum) {
  constexpr int64_t half = kLanes / 2;
  const int64_t vectors = spec.getVectors(e.getIsa());
  Index columns = args.columns / 2;
  for (int64_t v = 0; v < vectors; v += 2) {
    // Separate g and u.
    const bool hasTwo = v + 1 < vectors;
    Value x = getSum(v), y = hasTwo ? getSum(v + 1) : x;
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      low.push_back(lane < half ? lane : lane + half);
      high.push_back(low.back() + half);
    }
    OpBuilder &b = e.builder();
    Value g = b.create<vector::ShuffleOp>(e.location(), x, y, low),
          u = b.create<vector::ShuffleOp>(e.location(), x, y, high);

    // Store the existing columns; a single vector gives eight.
    Index left = columns - v * half;
    Value mask = partial  ? e.laneMask(left)
                 : hasTwo ? Value()
                          : e.laneMask(e.i64(half));
    if (partial && !hasTwo)
      mask = e.laneMask(min(left, half));
    spec.out->store(e, e.mulF(emitActivation(e, *spec.glu, g), u),
                    e.advance(out, v * half * spec.getOutputBytes()), mask);
  }
}

void transom::lower::emitStoreRow(CodeEmitter &e, const KernelSpec &spec,
                                  const KernelArgs &args, Index row,
                                  bool partial,
                                  function_ref<Value(int64_t)> getSum) {
  Value out =
      e.advance(args.output, row * args.outputStride * spec.getOutputBytes());
  if (spec.glu)
    return emitStoreGlu(e, spec, args, out, partial, getSum);
  Value residual;
  if (spec.residual)
    residual = e.advance(args.residual, row * args.residualStride * 4);
  // Load all sums before the first store; otherwise LLVM would load shared sums
  // again.
  SmallVector<Value> sums;
  for (int64_t v = 0; v < spec.getVectors(e.getIsa()); ++v)
    sums.push_back(getSum(v));
  for (auto [i, y] : llvm::enumerate(sums)) {
    const auto v = static_cast<int64_t>(i);
    Value mask = partial ? e.laneMask(args.columns - v * kLanes) : Value();
    if (spec.activation)
      y = emitActivation(e, *spec.activation, y);
    if (spec.residual)
      y = e.addF(y, e.loadVector(e.f32Type(),
                                 e.advance(residual, v * kLanes * 4), mask));
    spec.out->store(e, y, e.advance(out, v * kLanes * spec.getOutputBytes()),
                    mask);
  }
}
