// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogues of the two attention micro-kernels: scores with their row
// maxima, and the matmul with the values, divided by the softmax sum, so that
// neither is read again to be scaled.
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom::lower;

void transom::lower::emitStoreScores(CodeEmitter &e, const KernelSpec &spec,
                                     int64_t mr, const KernelArgs &args,
                                     ArrayRef<Value> tile) {
  int64_t vectors = spec.getVectors(e.getIsa());
  auto store = [&](bool partial) {
    // One version with masks, one without.
    SmallVector<Value> masks;
    for (int64_t v = 0; v < vectors && partial; ++v)
      masks.push_back(e.laneMask(args.columns - v * kLanes));
    for (int64_t row = 0; row < mr; ++row) {
      Value line = e.advance(args.output, args.outputStride * (row * 4));
      Value maximaAt = e.advance(args.perRow, row * kLanes * 4);
      Value maxima = e.loadVector(e.f32Type(), maximaAt);
      for (int64_t v = 0; v < vectors; ++v) {
        // Scale, and hide columns after the last key.
        Value t = tile[row * vectors + v];
        if (spec.hasColumnScales())
          t = e.mulF(t, e.loadVector(e.f32Type(),
                                     e.advance(args.bias, v * kLanes * 4),
                                     partial ? masks[v] : Value()));
        if (spec.scale != 1)
          t = e.mulF(t, e.splat(spec.scale));
        if (partial)
          t = e.select(masks[v], t, e.splat(-INFINITY));
        maxima = e.maxF(t, maxima);
        e.storeVector(t, e.advance(line, v * kLanes * 4));
      }
      e.storeVector(maxima, maximaAt);
    }
  };
  e.ifThen(
      vectors * kLanes <= args.columns, [&] { store(false); },
      [&] { store(true); });
}

void transom::lower::emitStoreNormalized(CodeEmitter &e, const KernelSpec &spec,
                                         int64_t mr, const KernelArgs &args,
                                         ArrayRef<Value> tile) {
  int64_t vectors = spec.getVectors(e.getIsa());
  int64_t bytes = spec.getOutputBytes();
  for (int64_t row = 0; row < mr; ++row) {
    Value sum = e.splat(e.loadF32(e.advance(args.perRow, row * 4)));
    Value empty = emitIsEmptySum(e, sum);
    Value line = e.advance(args.output, args.outputStride * (row * bytes));
    for (int64_t v = 0; v < vectors; ++v) {
      Value mask = e.laneMask(args.columns - v * kLanes);
      Value normalized =
          e.select(empty, e.splat(0.0), e.divF(tile[row * vectors + v], sum));
      Value at = e.advance(line, v * kLanes * bytes);
      spec.out->store(e, normalized, at, mask);
    }
  }
}
