// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop over K keeps the accumulators, one right operand vector per column
// vector, and one broadcast value per row in registers. The lowering for the
// right operand's format loads and multiplies in each iteration. A format with
// groups has such a loop for each group.
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom::lower;

/// Bytes per cache line.
static constexpr int64_t lineBytes = 64;

/// Number of iterations before its use that a right operand line is prefetched
/// into the first-level cache.
static constexpr int64_t iterationsAhead = 8;

namespace {
/// Emits the body of one kernel.
class KernelBody {
public:
  KernelBody(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
             const KernelArgs &args)
      : e(e), b(e.builder()), spec(spec), mr(mr), args(args),
        vectors(spec.getVectors(e.getIsa())) {}

  void emit() {
    if (spec.activation || spec.glu)
      stage = e.stackBuffer(mr * vectors * kLanes * 4);
    if (prefetchesIntoFirst())
      prefetchRows();
    Bool full = vectors * kLanes <= args.columns;

    // A right operand that may lack columns needs a loop with masked loads.
    if (spec.partialRhs) {
      e.ifThen(
          full, [&] { emitEpilogue(emitProduct(false), false); },
          [&] { emitEpilogue(emitProduct(true), true); });
      return;
    }

    // Otherwise there is one loop over K; only the stores differ.
    SmallVector<Value> tile = emitProduct(false);
    if (spec.store == KernelSpec::Store::KeyPanels)
      return emitStoreKeyPanels(e, spec, e.i64(mr), args, tile,
                                e.stackBuffer(kLanes * vectors * kLanes * 4));
    if (spec.store == KernelSpec::Store::Scores)
      return emitStoreScores(e, spec, mr, args, tile);
    e.ifThen(
        full, [&] { emitEpilogue(tile, false); },
        [&] { emitEpilogue(tile, true); });
  }

private:
  Index getK() { return spec.k ? e.i64(*spec.k) : args.k; }
  Index getLhsStride() {
    return spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride;
  }
  Index getRhsStride() {
    return spec.rhsStride ? e.i64(*spec.rhsStride) : args.rhsStride;
  }
  /// The mask that enables existing columns in a vector.
  Value getMask(int64_t vector) {
    return e.laneMask(args.columns - vector * kLanes);
  }
  /// Address of row `row`, vector `vector` in a row-major operand.
  Value getAddress(Value base, Index stride, int64_t row, int64_t vector,
                   int64_t bytes) {
    Value pointer = row == 0 ? base : e.advance(base, stride * (row * bytes));
    return e.advance(pointer, vector * kLanes * bytes);
  }

  /// The initial accumulators.
  SmallVector<Value> emitInit() {
    SmallVector<Value> tile;
    for (int64_t row = 0; row < mr; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        switch (spec.init) {
        case KernelSpec::AccumulatorInit::Zero:
          tile.push_back(e.splat(0.0));
          break;
        case KernelSpec::AccumulatorInit::Bias:
          // All rows start with the same vectors.
          tile.push_back(
              row ? tile[v]
                  : e.loadVector(e.f32Type(),
                                 e.advance(args.bias, v * kLanes * 4)));
          break;
        case KernelSpec::AccumulatorInit::Output:
          tile.push_back(e.loadVector(
              e.f32Type(),
              getAddress(args.output, args.outputStride, row, v, 4),
              getMask(v)));
          break;
        }
    return tile;
  }

  //===--------------------------------------------------------------------===//
  // The loop over K
  //===--------------------------------------------------------------------===//

  /// Prefetches rows that the epilogue reads and writes into the first-level
  /// cache, since no earlier access triggers a hardware prefetcher. Addresses
  /// are computed from one row to the next, unlike in the epilogue: a shared
  /// address would occupy a register during the loop over K.
  void prefetchRows() {
    auto prefetch = [&](Value row, Index stride, int64_t bytes) {
      for (int64_t i = 0; i < mr; ++i) {
        for (int64_t v = 0; v < vectors; ++v)
          if (v * kLanes * bytes % lineBytes == 0)
            e.prefetch(e.advance(row, v * kLanes * bytes), CacheLevel::First);
        row = e.advance(row, stride * bytes);
      }
    };
    if (spec.residual)
      prefetch(args.residual, args.residualStride, 4);
    if (spec.store == KernelSpec::Store::Rows)
      prefetch(args.output, args.outputStride, spec.getOutputBytes());
  }

  /// Whether the tile has enough multiply-adds to hide more prefetches, which
  /// would slow down kernels with few rows. If an iteration takes several right
  /// operand rows, no register is left for their addresses.
  bool prefetchesIntoFirst() const {
    return spec.prefetch && !spec.rhs->takesSeveralRows() &&
           3 * mr > 2 * spec.rhs->getMaxMr(e.getIsa());
  }

  /// Prefetches for an iteration: two streams into the second-level cache, and
  /// the right operand a few iterations ahead into the first one. Hardware
  /// prefetchers lose track of half a panel, whose lines alternate with lines
  /// from the other half.
  void emitPrefetches(const KernelArgs &args, Index index) {
    e.prefetch(e.advance(args.prefetch, index * args.prefetchStride));
    e.prefetch(e.advance(args.prefetchMore, index * args.prefetchMoreStride));
    if (!prefetchesIntoFirst())
      return;
    const int64_t vectorBytes = kLanes * spec.rhs->getFormat().getColumnBytes();
    RhsVector ahead{
        args.rhs, index + iterationsAhead, getRhsStride(), 0, Value(), false};
    for (; ahead.vector < vectors; ++ahead.vector)
      if (ahead.vector * vectorBytes % lineBytes == 0)
        e.prefetch(spec.rhs->getRhsAddress(e, ahead), CacheLevel::First);
  }

  /// One iteration. `isRest`: fewer k remain than an iteration takes.
  SmallVector<Value> emitIteration(const KernelArgs &args, Index index,
                                   ValueRange tile, ArrayRef<Value> masks,
                                   bool isRest) {
    SmallVector<Value> next(tile);
    if (spec.prefetch)
      emitPrefetches(args, index);
    // Load the right operand vectors.
    SmallVector<Operand> right;
    for (int64_t v = 0; v < vectors; ++v)
      right.push_back(
          spec.rhs->loadRhs(e, {args.rhs, index, getRhsStride(), v,
                                masks.empty() ? Value() : masks[v], isRest}));

    // Multiply each by the left operand's value in each row.
    int64_t bytes = spec.rhs->getLhs().getElementBytes();
    for (int64_t row = 0; row < mr; ++row) {
      Value at = getAddress(
          e.advance(args.lhs, index * (spec.rhs->getKPerIteration() * bytes)),
          getLhsStride(), row, 0, bytes);
      Operand left = spec.rhs->broadcastLhs(e, at, isRest);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = next[row * vectors + v];
        sum = spec.rhs->multiplyAdd(e, left, right[v], sum);
      }
    }
    return next;
  }

  //===--------------------------------------------------------------------===//
  // Quantized values in groups
  //===--------------------------------------------------------------------===//

  /// The sums over all groups: each group adds its integer sum times the scales
  /// of both operands.
  SmallVector<Value> emitGroups() {
    const int64_t group = spec.rhs->getFormat().group, k = *spec.k;
    SmallVector<Value> tile = e.forLoop(
        e.i64(0), e.i64(k / group), 1, emitInit(),
        [&](Index index, ValueRange sums) {
          return emitGroup(index, group, sums);
        },
        /*keepRolled=*/true);
    return k % group ? emitGroup(e.i64(k / group), k % group, tile) : tile;
  }

  /// One group with `size` elements along K.
  SmallVector<Value> emitGroup(Index index, int64_t size, ValueRange tile) {
    const OperandFormat &format = spec.rhs->getFormat();
    const int64_t perIteration = spec.rhs->getKPerIteration(),
                  iterations = size / perIteration;
    Index first = index * (format.group / perIteration);
    KernelArgs own = args;
    own.lhs =
        e.advance(args.lhs, index * (format.group *
                                     spec.rhs->getLhs().getElementBytes()));
    own.rhs =
        e.advance(args.rhs, spec.rhs->getDepthBytes(index * format.group));
    if (spec.prefetch) {
      own.prefetch = e.advance(args.prefetch, first * args.prefetchStride);
      own.prefetchMore =
          e.advance(args.prefetchMore, first * args.prefetchMoreStride);
    }

    if (spec.rhs->dequantizes()) {
      const GroupColumns columns(e, spec, args, index, size);
      return e.forLoop(
          e.i64(0), e.i64(iterations), 1, tile,
          [&](Index i, ValueRange sums) {
            return emitDequantized(own, i, sums, columns);
          },
          /*keepRolled=*/true);
    }

    // The integer sums.
    Value zero = b.create<arith::ConstantOp>(
        e.location(), b.getZeroAttr(e.getVectorType(spec.rhs->getSumType(e))));
    SmallVector<Value> whole = e.forLoop(
        e.i64(0), e.i64(iterations), 1, SmallVector<Value>(tile.size(), zero),
        [&](Index i, ValueRange sums) {
          return emitIteration(own, i, sums, {}, false);
        },
        /*keepRolled=*/true);

    // Add them to the f32 sums.
    SmallVector<Value> next;
    const GroupColumns columns(e, spec, args, index, size);
    for (int64_t row = 0; row < mr; ++row) {
      const GroupRow ofRow(e, spec, args, index, e.i64(row));
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t i = row * vectors + v;
        next.push_back(columns.addGroup(e, ofRow, v, whole[i], tile[i]));
      }
    }
    return next;
  }

  /// One iteration over weights that become f32, one k after the other.
  SmallVector<Value> emitDequantized(const KernelArgs &args, Index index,
                                     ValueRange tile,
                                     const GroupColumns &columns) {
    SmallVector<Value> next(tile);
    if (spec.prefetch)
      emitPrefetches(args, index);
    SmallVector<Operand> words;
    for (int64_t v = 0; v < vectors; ++v)
      words.push_back(spec.rhs->loadRhs(
          e, {args.rhs, index, getRhsStride(), v, Value(), false}));
    const int64_t count = spec.rhs->getKPerIteration();
    Value lhs = e.advance(args.lhs, index * (count * 4));
    for (int64_t k = 0; k < count; ++k) {
      SmallVector<Value> right;
      for (int64_t v = 0; v < vectors; ++v)
        right.push_back(
            columns.dequantize(e, v, spec.rhs->getWhole(e, words[v], k)));
      for (int64_t row = 0; row < mr; ++row) {
        Value at = getAddress(e.advance(lhs, k * 4), getLhsStride(), row, 0, 4);
        Operand left = spec.rhs->broadcastLhs(e, at, false);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = next[row * vectors + v];
          sum = spec.rhs->multiplyAdd(e, left, {right[v]}, sum);
        }
      }
    }
    return next;
  }

  /// The sums over all k, in ascending order.
  SmallVector<Value> emitProduct(bool partial) {
    if (spec.rhs->getFormat().isGrouped())
      return emitGroups();
    SmallVector<Value> masks;
    for (int64_t v = 0; v < vectors && partial; ++v)
      masks.push_back(getMask(v));
    auto loop = [&](Index from, Index to, ValueRange tile, bool isRest) {
      return e.forLoop(
          from, to, 1, tile,
          [&](Index index, ValueRange sums) {
            return emitIteration(args, index, sums, masks, isRest);
          },
          /*keepRolled=*/true);
    };
    int64_t perIteration = spec.rhs->getKPerIteration();
    if (perIteration == 1) {
      Index from = e.i64(0), to = getK();
      return loop(from, to, emitInit(), false);
    }
    // Whole iterations, then the rest unless K is known to have none.
    Index numWhole = getK() / perIteration;
    SmallVector<Value> tile = loop(e.i64(0), numWhole, emitInit(), false);
    if (spec.k && *spec.k % perIteration == 0)
      return tile;
    return loop(numWhole, ceilDiv(getK(), perIteration), tile, true);
  }

  //===--------------------------------------------------------------------===//
  // The epilogue
  //===--------------------------------------------------------------------===//

  void emitEpilogue(ArrayRef<Value> tile, bool partial) {
    if (spec.store == KernelSpec::Store::Normalize)
      return emitStoreNormalized(e, spec, mr, args, tile);
    if (spec.activation || spec.glu)
      return emitStagedRows(tile, partial);
    // All loads come before the first store: a load with the same low address
    // bits as an earlier store would wait for it.
    SmallVector<Value> sums(tile);
    if (spec.residual)
      addResidual(sums, partial);
    for (int64_t row = 0; row < mr; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        spec.out->store(e, sums[row * vectors + v],
                        getAddress(args.output, args.outputStride, row, v,
                                   spec.getOutputBytes()),
                        partial ? getMask(v) : Value());
  }

  void addResidual(MutableArrayRef<Value> tile, bool partial) {
    for (int64_t row = 0; row < mr; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        Value &x = tile[row * vectors + v];
        Value from = getAddress(args.residual, args.residualStride, row, v, 4);
        x = e.addF(
            x, e.loadVector(e.f32Type(), from, partial ? getMask(v) : Value()));
      }
  }

  /// Loops over the tile rows, staged in a stack buffer that stays in the
  /// first-level cache, so that the code for an activation is emitted once and
  /// not once per register.
  void emitStagedRows(ArrayRef<Value> tile, bool partial) {
    for (auto [i, x] : llvm::enumerate(tile))
      e.storeVector(x, e.advance(stage, i * kLanes * 4));
    e.forRange(mr, [&](Index row) {
      emitStoreRow(e, spec, args, row, partial, [&](int64_t v) {
        Value at = e.advance(stage, (row * vectors + v) * kLanes * 4);
        return e.loadVector(e.f32Type(), at);
      });
    });
  }

  CodeEmitter &e;
  OpBuilder &b;
  const KernelSpec &spec;
  int64_t mr;
  KernelArgs args;
  int64_t vectors; ///< 16-lane vectors per tile row
  Value stage;     ///< [mr][vectors] on the stack
};
} // namespace

void transom::lower::emitKernelBody(CodeEmitter &e, const KernelSpec &spec,
                                    int64_t mr, const KernelArgs &args) {
  if (spec.amx)
    return emitAmxKernel(e, spec, args);
  KernelBody(e, spec, mr, args).emit();
}
