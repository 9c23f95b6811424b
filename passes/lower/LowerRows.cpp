// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, softmax and embeddings: a part owns whole rows. Sums run in 16 lanes
// by column and a fixed tree.
#include "passes/lower/Phase.h"
#include "passes/lower/VectorMath.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
/// One row of f32 in memory.
struct Row {
  PhaseEmitter &e;
  Value pointer;

  Value load(Value column, Value mask) {
    return e.loadVector(e.f32Type(), e.advance(pointer, e.mul(column, 4)),
                        mask);
  }
  void store(Value value, Value column, Value mask) {
    e.storeVector(value, e.advance(pointer, e.mul(column, 4)), mask);
  }
};
} // namespace

static Row rowOf(PhaseEmitter &e, Value buffer, Value row) {
  return {e, e.advance(e.pointer(buffer),
                       e.mul(e.mul(row, e.rowStride(buffer)), 4))};
}

static Value lastDim(PhaseEmitter &e, Value buffer) {
  return e.size(PhaseEmitter::typeOf(buffer).getDims().back());
}

/// Sum over the columns of `term(column, mask)`; lanes behind the last column
/// must give zero.
static Value sumColumns(PhaseEmitter &e, Value count,
                        function_ref<Value(Value, Value)> term) {
  Value lanes = e.foldColumns(
      count, e.splat(0.0), [&](Value column, Value mask, ValueRange sum) {
        return SmallVector<Value>{e.addF(sum[0], term(column, mask))};
      })[0];
  return e.sumLanes(lanes);
}

void lower::emitNormRow(PhaseEmitter &e, const NormRow &norm, Value index) {
  Value count = lastDim(e, norm.input);
  double width = *PhaseEmitter::typeOf(norm.input).getDims().back().constant();
  Row in = rowOf(e, norm.input, index), out = rowOf(e, norm.output, index);
  Row gamma{e, e.weight(norm.gamma)};
  Value mean = e.f32(0);
  if (!norm.rms)
    mean = e.divF(
        sumColumns(e, count, [&](Value c, Value m) { return in.load(c, m); }),
        e.f32(width));
  Value means = e.splat(mean);
  Value squares = sumColumns(e, count, [&](Value c, Value m) {
    Value d = e.subF(in.load(c, m), means);
    Value square = e.mulF(d, d);
    return m ? e.select(m, square, e.splat(0.0)) : square;
  });
  Value variance = e.divF(squares, e.f32(width));
  Value factor =
      e.splat(e.divF(e.f32(1), e.sqrtF(e.addF(variance, e.f32(norm.eps)))));
  e.columns(count, [&](Value c, Value m) {
    Value normal = e.mulF(e.subF(in.load(c, m), means), factor);
    Value scaled = norm.beta ? e.fma(normal, gamma.load(c, m),
                                     Row{e, e.weight(norm.beta)}.load(c, m))
                             : e.mulF(normal, gamma.load(c, m));
    out.store(scaled, c, m);
  });
}

void lower::lowerNorm(PhaseEmitter &e, kern::NormOp op) {
  NormRow norm{op.getInput(),
               op.getOuts(),
               op.getGamma(),
               op.getBeta(),
               op.getEps().convertToDouble(),
               op.getRms()};
  e.shareRows(e.rowCount(op.getOuts()),
              [&](Value row) { emitNormRow(e, norm, row); });
}

void lower::lowerSoftmax(PhaseEmitter &e, kern::SoftmaxOp op) {
  Value count = lastDim(e, op.getInput());
  Value lowest = e.splat(-INFINITY), log2e = e.splat(1.4426950408889634);
  e.shareRows(e.rowCount(op.getOuts()), [&](Value index) {
    Row in = rowOf(e, op.getInput(), index),
        out = rowOf(e, op.getOuts(), index);
    Value lanes =
        e.foldColumns(count, lowest, [&](Value c, Value m, ValueRange carried) {
          Value x = in.load(c, m);
          return SmallVector<Value>{
              e.maxF(m ? e.select(m, x, lowest) : x, carried[0])};
        })[0];
    Value maximum = e.maxLanes(lanes);
    Value shift = e.splat(
        e.select(e.lessF(e.f32(-INFINITY), maximum), maximum, e.f32(0)));
    Value total = sumColumns(e, count, [&](Value c, Value m) {
      Value x = in.load(c, m);
      Value p = emitExp2OfNonPositive(e, e.mulF(e.subF(x, shift), log2e));
      out.store(p, c, m);
      return m ? e.select(m, p, e.splat(0.0)) : p;
    });
    Value divisor =
        e.splat(e.select(e.lessF(e.f32(0), total), total, e.f32(1)));
    e.columns(count, [&](Value c, Value m) {
      out.store(e.divF(out.load(c, m), divisor), c, m);
    });
  });
}

/// Columns of row `id` of a table, whichever way it lies.
static Value loadTable(PhaseEmitter &e, Value table, Value id, Value column,
                       Value mask) {
  auto type = cast<kern::WeightType>(table.getType());
  int64_t width = type.getShape()[1];
  if (type.getLayout() != kern::WeightLayout::Panels32) {
    Value offset = e.add(e.mul(id, width), column);
    return e.loadVector(e.f32Type(),
                        e.advance(e.weight(table), e.mul(offset, 4)), mask);
  }
  // A head's weight: row id is lane id % 32 of panel id / 32.
  Value panel = e.div(id, e.i64(kern::kPanel)),
        lane = e.rem(id, e.i64(kern::kPanel));
  Value offset =
      e.add(e.mul(e.add(e.mul(panel, width), column), kern::kPanel), lane);
  return e.gather(e.advance(e.weight(table), e.mul(offset, 4)),
                  e.i64(kern::kPanel * 4), mask);
}

void lower::lowerEmbedding(PhaseEmitter &e, kern::EmbeddingOp op) {
  Value count = lastDim(e, op.getOuts());
  e.shareRows(e.rowCount(op.getOuts()), [&](Value index) {
    Row out = rowOf(e, op.getOuts(), index);
    SmallVector<Value> ids;
    for (Value buffer : op.getIds())
      ids.push_back(e.loadI64(e.advance(e.pointer(buffer), e.mul(index, 8))));
    e.columns(count, [&](Value c, Value m) {
      Value sum;
      for (auto [id, table, scale] :
           llvm::zip(ids, op.getTables(), op.getScales())) {
        Value x = loadTable(e, table, id, c, m);
        if (scale != 1.0)
          x = e.mulF(x, e.splat(scale));
        sum = sum ? e.addF(sum, x) : x;
      }
      out.store(sum, c, m);
    });
  });
}
