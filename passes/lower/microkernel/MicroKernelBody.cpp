// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-kernels: the loop over K holds one vector of weights a column vector,
// one broadcast a row, and the accumulators, all in registers. In bf16 a step
// takes a pair of k: one instruction where the CPU has it, else both halves
// are widened and multiplied one after the other.
#include "passes/lower/microkernel/MicroKernelBody.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/emit/VectorMath.h"

using namespace mlir;
using namespace transom::lower;

namespace {
/// What one step multiplies: an f32 vector, or a pair of bf16 in each lane, as
/// the instruction takes them or widened into two vectors.
using Operand = SmallVector<Value, 2>;

/// Emits the body of one kernel.
class KernelBody {
public:
  KernelBody(Emitter &e, const KernelSpec &spec, int64_t rows,
             const KernelArgs &args)
      : e(e), b(e.builder()), spec(spec), rows(rows), args(args),
        vectors(spec.vectorsOf(e.instructions())) {}

  void emit() {
    if (!spec.activation.empty() || !spec.gate.empty())
      stage = e.stackBuffer(rows * vectors * kLanes * 4);
    Value full = e.lessEqual(e.i64(vectors * kLanes), args.columns);
    // Without masked loads the loop over K is one; only stores differ.
    if (spec.partialRhs) {
      e.ifThen(
          full, [&] { finish(multiply(false), false); },
          [&] { finish(multiply(true), true); });
      return;
    }
    SmallVector<Value> tile = multiply(false);
    if (spec.store == KernelSpec::Store::Keys)
      return emitStoreKeys(e, spec, rows, args, tile);
    if (spec.store == KernelSpec::Store::Scores)
      return emitStoreScores(e, spec, rows, args, tile);
    e.ifThen(full, [&] { finish(tile, false); }, [&] { finish(tile, true); });
  }

private:
  Value k() { return spec.k ? e.i64(*spec.k) : args.k; }
  Value lhsStride() {
    return spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride;
  }
  Value rhsStride() {
    return spec.rhsStride ? e.i64(*spec.rhsStride) : args.rhsStride;
  }
  Value mask(int64_t vector) {
    return e.laneMask(e.sub(args.columns, e.i64(vector * kLanes)));
  }
  /// Pointer to row `row`, vector `vector` of a row-major operand.
  Value at(Value base, Value stride, int64_t row, int64_t vector,
           int64_t bytes) {
    Value pointer =
        row == 0 ? base : e.advance(base, e.mul(stride, row * bytes));
    return e.advance(pointer, vector * kLanes * bytes);
  }

  SmallVector<Value> start() {
    SmallVector<Value> tile;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        switch (spec.start) {
        case KernelSpec::Start::Zero:
          tile.push_back(e.splat(0.0));
          break;
        case KernelSpec::Start::Bias:
          tile.push_back(
              row ? tile[v]
                  : e.loadVector(e.f32Type(),
                                 e.advance(args.bias, v * kLanes * 4)));
          break;
        case KernelSpec::Start::Output:
          tile.push_back(e.loadVector(
              e.f32Type(), at(args.output, args.outputStride, row, v, 4),
              mask(v)));
          break;
        }
    return tile;
  }

  //===--------------------------------------------------------------------===//
  // The loop over K
  //===--------------------------------------------------------------------===//

  Value bits(Value x, Type element) {
    Type type = VectorType::get(
        {kLanes * 32 / int64_t(element.getIntOrFloatBitWidth())}, element);
    return b.create<vector::BitCastOp>(e.location(), type, x);
  }
  /// Lanes of pairs, as i32, as the multiplication takes them.
  Operand pairs(Value words) {
    if (e.instructions().dotBf16)
      return {bits(words, b.getBF16Type())};
    Value low = b.create<arith::ShLIOp>(e.location(), words, e.splatI32(16));
    Value high = b.create<arith::AndIOp>(e.location(), words,
                                         e.splatI32(int32_t(0xffff0000)));
    return {bits(low, e.f32Type()), bits(high, e.f32Type())};
  }
  /// Two rows of bf16, as i16, made into pairs.
  Operand pairsOfRows(Value first, Value second) {
    if (!e.instructions().dotBf16)
      return {e.widenBf16(first), e.widenBf16(second)};
    SmallVector<int64_t> interleaved;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      interleaved.push_back(lane);
      interleaved.push_back(lane + kLanes);
    }
    Value words =
        b.create<vector::ShuffleOp>(e.location(), first, second, interleaved);
    return {bits(words, b.getBF16Type())};
  }
  Value multiplyAdd(const Operand &x, const Operand &y, Value sum) {
    if (spec.bf16 && e.instructions().dotBf16)
      return e.intrinsic(e.f32Vector(), "llvm.x86.avx512bf16.dpbf16ps.512",
                         {sum, x[0], y[0]});
    for (auto [a, c] : llvm::zip(x, y))
      sum = e.fma(a, c, sum);
    return sum;
  }

  /// Vector `v` of the weights of a step; `odd` at a k without a partner.
  Operand weights(Value index, int64_t v, Value mask, bool odd) {
    int64_t bytes = spec.rhsInt8 ? 1 : spec.rhsRows ? 2 : 4;
    Value line = spec.rhsRows ? e.mul(index, 2) : index;
    Value at =
        e.advance(e.advance(args.rhs, e.mul(e.mul(line, rhsStride()), bytes)),
                  v * kLanes * bytes);
    if (spec.rhsInt8)
      return {e.widenInt8(e.loadVector(b.getI8Type(), at, mask))};
    if (!spec.bf16)
      return {e.loadVector(e.f32Type(), at, mask)};
    if (!spec.rhsRows) {
      // What stands beside an odd last k is anything, in a cache.
      Value words = e.loadVector(b.getI32Type(), at, mask);
      if (odd)
        words =
            b.create<arith::AndIOp>(e.location(), words, e.splatI32(0xffff));
      return pairs(words);
    }
    Type half = b.getI16Type();
    Value zero = b.create<arith::ConstantOp>(e.location(),
                                             b.getZeroAttr(e.vectorOf(half)));
    Value next = e.advance(at, e.mul(rhsStride(), 2));
    return pairsOfRows(e.loadVector(half, at, mask),
                       odd ? zero : e.loadVector(half, next, mask));
  }

  /// One row's value (pair) of a step in all lanes.
  Operand broadcast(Value index, int64_t row, bool odd) {
    Value at = this->at(e.advance(args.lhs, e.mul(index, 4)), lhsStride(), row,
                        0, spec.operandBytes());
    if (!spec.bf16)
      return {e.splat(e.loadF32(at))};
    Value word = odd ? b.create<arith::ExtUIOp>(e.location(), b.getI32Type(),
                                                e.load(b.getI16Type(), at))
                     : e.load(b.getI32Type(), at);
    return pairs(e.splat(word));
  }

  /// A step of the loop: one k, or a pair of them.
  SmallVector<Value> step(Value index, ValueRange tile, ArrayRef<Value> masks,
                          bool odd) {
    SmallVector<Value> next(tile);
    if (spec.prefetch) {
      e.prefetch(e.advance(args.prefetch, e.mul(index, args.prefetchStride)));
      e.prefetch(
          e.advance(args.prefetchMore, e.mul(index, args.prefetchMoreStride)));
    }
    SmallVector<Operand> right;
    for (int64_t v = 0; v < vectors; ++v)
      right.push_back(
          weights(index, v, masks.empty() ? Value() : masks[v], odd));
    for (int64_t row = 0; row < rows; ++row) {
      Operand left = broadcast(index, row, odd);
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = next[row * vectors + v];
        sum = multiplyAdd(left, right[v], sum);
      }
    }
    return next;
  }

  /// The chains over K, ascending.
  SmallVector<Value> multiply(bool partial) {
    SmallVector<Value> masks;
    for (int64_t v = 0; v < vectors && partial; ++v)
      masks.push_back(mask(v));
    auto loop = [&](Value from, Value to, ValueRange tile, bool odd) {
      return e.forLoop(
          from, to, 1, tile,
          [&](Value index, ValueRange sums) {
            return step(index, sums, masks, odd);
          },
          /*keepRolled=*/true);
    };
    if (!spec.bf16)
      return loop(e.i64(0), k(), start(), false);
    Value whole = e.div(k(), e.i64(2));
    SmallVector<Value> tile = loop(e.i64(0), whole, start(), false);
    if (spec.k && *spec.k % 2 == 0)
      return tile;
    return loop(whole, e.ceilDiv(k(), 2), tile, true);
  }

  //===--------------------------------------------------------------------===//
  // What follows
  //===--------------------------------------------------------------------===//

  void finish(ArrayRef<Value> tile, bool partial) {
    if (spec.store == KernelSpec::Store::Quotients)
      return emitStoreQuotients(e, spec, rows, args, tile);
    if (!spec.gate.empty())
      return gate(tile, partial);
    if (!spec.activation.empty())
      return activate(tile, partial);
    // All loads stand before the first store: one with the same low address
    // bits as a store before it would wait until that is done.
    SmallVector<Value> sums(tile);
    if (spec.residual)
      addResidual(sums, partial);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        storeVector(
            sums[row * vectors + v],
            at(args.output, args.outputStride, row, v, spec.outputBytes()),
            partial ? mask(v) : Value());
  }

  void addResidual(MutableArrayRef<Value> tile, bool partial) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        Value &x = tile[row * vectors + v];
        Value from = at(args.residual, args.residualStride, row, v, 4);
        x = e.addF(
            x, e.loadVector(e.f32Type(), from, partial ? mask(v) : Value()));
      }
  }

  void storeVector(Value x, Value pointer, Value mask) {
    if (spec.outBf16)
      return e.storeBf16(x, pointer, mask);
    e.storeVector(x, pointer, mask);
  }

  /// Runs over the tile row by row, from a place on the stack that stays in the
  /// first-level cache: activations' code stands once, not once a register.
  /// `body` is given the row, its staged line and its output.
  void forStagedRows(ArrayRef<Value> tile,
                     function_ref<void(Value, Value, Value)> body) {
    for (auto [i, x] : llvm::enumerate(tile))
      e.storeVector(x, e.advance(stage, i * kLanes * 4));
    e.forLoop(e.i64(0), e.i64(rows), 1, [&](Value row) {
      Value out = e.advance(args.output, e.mul(e.mul(row, args.outputStride),
                                               spec.outputBytes()));
      body(row, e.advance(stage, e.mul(row, vectors * kLanes * 4)), out);
    });
  }

  /// Two vectors of eight g and eight u, or a single one, to one of results.
  void gate(ArrayRef<Value> tile, bool partial) {
    constexpr int64_t half = kLanes / 2;
    Value columns = e.div(args.columns, e.i64(2));
    forStagedRows(tile, [&](Value, Value line, Value out) {
      for (int64_t v = 0; v < vectors; v += 2) {
        auto load = [&](int64_t at) {
          return e.loadVector(e.f32Type(), e.advance(line, at * kLanes * 4));
        };
        bool both = v + 1 < vectors;
        Value x = load(v), y = both ? load(v + 1) : x;
        SmallVector<int64_t> low, high;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          low.push_back(lane < half ? lane : lane + half);
          high.push_back(low.back() + half);
        }
        Value g = b.create<vector::ShuffleOp>(e.location(), x, y, low),
              u = b.create<vector::ShuffleOp>(e.location(), x, y, high);
        Value left = e.sub(columns, e.i64(v * half));
        Value active = partial ? e.laneMask(left)
                       : both  ? Value()
                               : e.laneMask(e.i64(half));
        if (partial && !both)
          active = e.laneMask(e.min(left, e.i64(half)));
        storeVector(e.mulF(emitActivation(e, spec.gate, g), u),
                    e.advance(out, v * half * spec.outputBytes()), active);
      }
    });
  }

  void activate(ArrayRef<Value> tile, bool partial) {
    forStagedRows(tile, [&](Value row, Value line, Value out) {
      Value other;
      if (spec.residual)
        other =
            e.advance(args.residual, e.mul(e.mul(row, args.residualStride), 4));
      for (int64_t v = 0; v < vectors; ++v) {
        Value active = partial ? mask(v) : Value();
        Value y = emitActivation(
            e, spec.activation,
            e.loadVector(e.f32Type(), e.advance(line, v * kLanes * 4)));
        if (spec.residual)
          y = e.addF(y, e.loadVector(e.f32Type(),
                                     e.advance(other, v * kLanes * 4), active));
        storeVector(y, e.advance(out, v * kLanes * spec.outputBytes()), active);
      }
    });
  }

  Emitter &e;
  OpBuilder &b;
  const KernelSpec &spec;
  int64_t rows;
  KernelArgs args;
  int64_t vectors; ///< 16-lane vectors of a tile's row
  Value stage;     ///< [rows][vectors] on the stack
};
} // namespace

void transom::lower::emitKernelBody(Emitter &e, const KernelSpec &spec,
                                    int64_t rows, const KernelArgs &args) {
  KernelBody(e, spec, rows, args).emit();
}
