// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ends of attention's two micro-kernels: scores with the maxima of their
// rows, and the product with the values divided by the total, so that neither
// is read again to be scaled.
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom::lower;

void transom::lower::emitStoreScores(Emitter &e, const KernelSpec &spec,
                                     int64_t rows, const KernelArgs &args,
                                     ArrayRef<Value> tile) {
  int64_t vectors = spec.vectorsOf(e.instructions());
  auto store = [&](bool partial) {
    SmallVector<Value> seen;
    for (int64_t v = 0; v < vectors && partial; ++v)
      seen.push_back(e.laneMask(e.sub(args.columns, e.i64(v * kLanes))));
    for (int64_t row = 0; row < rows; ++row) {
      Value line = e.advance(args.output, e.mul(args.outputStride, row * 4));
      Value maximaAt = e.advance(args.perRow, row * kLanes * 4);
      Value maxima = e.loadVector(e.f32Type(), maximaAt);
      for (int64_t v = 0; v < vectors; ++v) {
        Value t = tile[row * vectors + v];
        if (spec.columnScales)
          t = e.mulF(t, e.loadVector(e.f32Type(),
                                     e.advance(args.bias, v * kLanes * 4),
                                     partial ? seen[v] : Value()));
        if (spec.scale != 1)
          t = e.mulF(t, e.splat(spec.scale));
        if (partial)
          t = e.select(seen[v], t, e.splat(-INFINITY));
        maxima = e.maxF(t, maxima);
        e.storeVector(t, e.advance(line, v * kLanes * 4));
      }
      e.storeVector(maxima, maximaAt);
    }
  };
  e.ifThen(
      e.lessEqual(e.i64(vectors * kLanes), args.columns), [&] { store(false); },
      [&] { store(true); });
}

void transom::lower::emitStoreQuotients(Emitter &e, const KernelSpec &spec,
                                        int64_t rows, const KernelArgs &args,
                                        ArrayRef<Value> tile) {
  int64_t vectors = spec.vectorsOf(e.instructions());
  for (int64_t row = 0; row < rows; ++row) {
    Value divisor = e.splat(e.loadF32(e.advance(args.perRow, row * 4)));
    Value none = emitIsEmptyTotal(e, divisor);
    Value line = e.advance(args.output,
                           e.mul(args.outputStride, row * spec.outputBytes()));
    for (int64_t v = 0; v < vectors; ++v) {
      Value active = e.laneMask(e.sub(args.columns, e.i64(v * kLanes)));
      Value quotient = e.select(none, e.splat(0.0),
                                e.divF(tile[row * vectors + v], divisor));
      Value at = e.advance(line, v * kLanes * spec.outputBytes());
      if (spec.outBf16)
        e.storeBf16(quotient, at, active);
      else
        e.storeVector(quotient, at, active);
    }
  }
}
