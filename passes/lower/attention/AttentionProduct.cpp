// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, the product with the values: a chain over the keys of a piece from
// zero, divided by the total at once where the piece is the only one, else
// merged with the pieces before it.
#include "passes/lower/attention/AttentionPhase.h"
#include "passes/lower/emit/VectorMath.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Into `target` as [rows][value stride] of f32; or, without one, into the
/// result, divided by `divisors`.
void AttentionPhase::emitProduct(const Unit &u, const Piece &piece,
                                 Value target, Value divisors) {
  int64_t width = e.kernels().tileColumns(), bytes = bf16 ? 2 : 4;
  kern::BufferType outType = PhaseEmitter::typeOf(op.getOuts());
  // In a cache two keys' values lie side by side, else one key's in a row.
  bool pairs = bf16 && op.getCache();
  int64_t together = bf16 ? 2 : 1;
  KernelSpec spec;
  spec.bf16 = bf16;
  spec.rhsRows = bf16 && !pairs;
  spec.rhsInt8 = int8;
  spec.lhsStride = scoreStride * 4 / bytes;
  spec.rhsStride =
      op.getCache()
          ? dv
          : PhaseEmitter::typeOf(op.getValue()).getRowStride().constant();
  if (!target) {
    spec.store = KernelSpec::Store::Quotients;
    spec.outBf16 = outType.getElementType().isBF16();
  }
  spec.prefetch = true;
  Value start = e.sub(piece.start, piece.base);
  KernelArgs args;
  args.k = e.sub(piece.end, piece.start);
  args.rhsStride = op.getCache() ? e.i64(dv) : e.rowStride(op.getValue());
  args.outputStride =
      target ? e.i64(valueStride) : lineStride(u.s, op.getOuts(), dv);
  // Bytes of a step: of one key, or of two.
  Value stepBytes = e.mul(args.rhsStride, valueBytes() * together);
  Value values =
      e.advance(piece.values, e.mul(e.div(start, e.i64(together)), stepBytes));
  // A step reads two lines of a row, or one of each of two rows.
  args.prefetchStride = stepBytes;
  args.prefetchMoreStride = args.prefetchStride;
  Value second = spec.rhsRows ? e.mul(args.rhsStride, 2) : e.i64(64);
  for (int64_t column = 0; column < dv; column += width) {
    // What is left may fit a narrower tile.
    if (width > kLanes && dv - column <= kLanes)
      spec.vectors = 1;
    spec.partialRhs = dv - column < spec.vectorsOf(e.instructions()) * kLanes;
    int64_t offset = column * (pairs ? 4 : valueBytes());
    args.rhs = e.advance(values, offset);
    Value ahead = e.advance(piece.nextValues, offset);
    args.columns = e.i64(dv - column);
    e.tiles(
        u.rows,
        [&](Value row, Value tall) {
          args.lhs = e.advance(cell(piece.scores, row, scoreStride, e.i64(0)),
                               e.mul(start, bytes));
          if (target) {
            args.output = cell(target, row, valueStride, e.i64(column));
          } else {
            args.output =
                e.advance(outLine(u, row), column * outType.getElementBytes());
            args.perRow = number(divisors, row);
          }
          args.prefetch = ahead;
          args.prefetchMore = e.advance(ahead, second);
          e.kernels().call(e, spec, tall, args);
        },
        bf16);
  }
}

/// Adds a piece to what the pieces before it gave; the last one makes the
/// result.
void AttentionPhase::emitMerge(const Unit &u, const Sums &sums,
                               const Sums &piece, Value last) {
  // Factors of 16 rows at once; those behind the last row are not read.
  e.forLoop(e.i64(0), u.rows, kLanes, [&](Value row) {
    auto load = [&](Value base) {
      return e.loadVector(e.f32Type(), number(base, row));
    };
    Value earlier = load(sums.maximum), own = load(piece.maximum);
    Value joint = e.maxF(earlier, own);
    Value shift =
        e.select(e.lessF(e.splat(-INFINITY), joint), joint, e.splat(0.0));
    Value a = emitExp2OfNonPositive(e, e.subF(earlier, shift));
    Value c = emitExp2OfNonPositive(e, e.subF(own, shift));
    e.storeVector(joint, number(sums.maximum, row));
    e.storeVector(e.fma(load(piece.total), c, e.mulF(load(sums.total), a)),
                  number(sums.total, row));
    e.storeVector(a, number(before, row));
    e.storeVector(c, number(after, row));
  });
  auto joined = [&](Value row, function_ref<void(Value, Value, Value)> use) {
    Value a = e.splat(e.loadF32(number(before, row))),
          c = e.splat(e.loadF32(number(after, row)));
    e.forLoop(e.i64(0), e.i64(valueStride), kLanes, [&](Value column) {
      Value at = cell(sums.product, row, valueStride, column);
      Value o = e.loadVector(e.f32Type(),
                             cell(piece.product, row, valueStride, column));
      use(column, at, e.fma(o, c, e.mulF(e.loadVector(e.f32Type(), at), a)));
    });
  };
  e.ifThen(
      last,
      [&] {
        bool rounds =
            PhaseEmitter::typeOf(op.getOuts()).getElementType().isBF16();
        e.forLoop(e.i64(0), u.rows, 1, [&](Value row) {
          Value total = e.splat(e.loadF32(number(sums.total, row)));
          Value none = emitIsEmptyTotal(e, total);
          Value line = outLine(u, row);
          joined(row, [&](Value column, Value, Value o) {
            Value quotient = e.select(none, e.splat(0.0), e.divF(o, total));
            Value at = e.advance(line, e.mul(column, rounds ? 2 : 4));
            Value mask = e.laneMask(e.sub(e.i64(dv), column));
            if (rounds)
              e.storeBf16(quotient, at, mask);
            else
              e.storeVector(quotient, at, mask);
          });
        });
      },
      [&] {
        e.forLoop(e.i64(0), u.rows, 1, [&](Value row) {
          joined(row, [&](Value, Value at, Value o) { e.storeVector(o, at); });
        });
      });
}
