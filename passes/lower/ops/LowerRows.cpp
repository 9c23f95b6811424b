// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, casts, softmax and embeddings: a part owns whole rows. Sums run in 16
// lanes by column and a fixed tree; bf16 is widened when it is read and rounded
// when it is written.
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/ops/Rows.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

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

/// Rows that are normalized together: their sums are chains that wait for
/// nothing but themselves, so one alone would leave the units idle.
static constexpr int64_t kNormRows = 4;

namespace {
/// Some consecutive rows while they are normalized.
class NormedRows {
public:
  NormedRows(PhaseEmitter &e, const NormRow &norm, Value first, int64_t rows)
      : e(e), norm(norm), count(lastDim(e, norm.input)) {
    for (int64_t i = 0; i < rows; ++i) {
      Value index = e.add(first, i);
      in.push_back(rowOf(e, norm.input, index));
      for (Value out : {norm.output, norm.outputBf16})
        if (out)
          outs.push_back({i, rowOf(e, out, index)});
    }
  }

  void emit() {
    SmallVector<Value> means(in.size(), e.splat(0.0)), factors;
    if (!norm.rms)
      means = averages(
          [&](size_t i, Value c, Value m) { return in[i].load(c, m); });
    SmallVector<Value> variances = averages([&](size_t i, Value c, Value m) {
      Value d = e.subF(in[i].load(c, m), means[i]);
      Value square = e.mulF(d, d);
      return m ? e.select(m, square, e.splat(0.0)) : square;
    });
    for (Value variance : variances) {
      Value deviation =
          e.sqrtF(e.addF(e.extract(variance, 0), e.f32(norm.eps)));
      factors.push_back(e.splat(e.divF(e.f32(1), deviation)));
    }
    e.columns(count, [&](Value c, Value m) {
      Value gamma = Row{e, e.weight(norm.gamma)}.load(c, m), beta;
      if (norm.beta)
        beta = Row{e, e.weight(norm.beta)}.load(c, m);
      SmallVector<Value> scaled;
      for (size_t i = 0; i < in.size(); ++i) {
        Value normal = e.mulF(e.subF(in[i].load(c, m), means[i]), factors[i]);
        scaled.push_back(beta ? e.fma(normal, gamma, beta)
                              : e.mulF(normal, gamma));
      }
      for (auto &[i, out] : outs)
        out.store(scaled[i], c, m);
    });
  }

private:
  /// Each row's sum of `term(row, column, mask)` over the columns, divided by
  /// their number, in all lanes.
  SmallVector<Value> averages(function_ref<Value(size_t, Value, Value)> term) {
    double width =
        *PhaseEmitter::typeOf(norm.input).getDims().back().constant();
    SmallVector<Value> zeros(in.size(), e.splat(0.0)), result;
    SmallVector<Value> sums = e.foldColumns(
        count, zeros, [&](Value column, Value mask, ValueRange carried) {
          SmallVector<Value> next;
          for (size_t i = 0; i < in.size(); ++i)
            next.push_back(e.addF(carried[i], term(i, column, mask)));
          return next;
        });
    for (Value sum : sums)
      result.push_back(e.splat(e.divF(e.sumLanes(sum), e.f32(width))));
    return result;
  }

  PhaseEmitter &e;
  const NormRow &norm;
  Value count;
  SmallVector<Row> in;
  SmallVector<std::pair<int64_t, Row>> outs; ///< with the index of the row
};
} // namespace

void lower::emitNormRows(PhaseEmitter &e, const NormRow &norm, Value from,
                         Value to) {
  Value together = e.sub(to, e.rem(e.sub(to, from), e.i64(kNormRows)));
  e.forLoop(from, together, kNormRows,
            [&](Value row) { NormedRows(e, norm, row, kNormRows).emit(); });
  e.forLoop(together, to, 1,
            [&](Value row) { NormedRows(e, norm, row, 1).emit(); });
}

void lower::lowerNorm(PhaseEmitter &e, kern::NormOp op) {
  NormRow norm{op.getInput(),
               op.getOuts(),
               op.getGamma(),
               op.getBeta(),
               op.getEps().convertToDouble(),
               op.getRms(),
               op.getOutBf16()};
  auto [from, to] = e.share(e.rowCount(op.getOuts()));
  emitNormRows(e, norm, from, to);
}

void lower::lowerCast(PhaseEmitter &e, kern::CastOp op) {
  e.shareRows(e.rowCount(op.getOuts()), [&](Value index) {
    Row in = rowOf(e, op.getInput(), index),
        out = rowOf(e, op.getOuts(), index);
    e.columns(lastDim(e, op.getInput()),
              [&](Value c, Value m) { out.store(in.load(c, m), c, m); });
  });
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
    Value totals = e.splat(total);
    Value divisor = e.select(emitIsEmptyTotal(e, totals), e.splat(1.0), totals);
    e.columns(count, [&](Value c, Value m) {
      out.store(e.divF(out.load(c, m), divisor), c, m);
    });
  });
}

/// Columns of row `id` of a head's weight in bf16, whose elements lie in pairs:
/// each lane reads the pair of its column and takes the half that is its own.
static Value gatherPairs(PhaseEmitter &e, Value table, Value id, Value column,
                         Value mask) {
  OpBuilder &b = e.builder();
  auto type = cast<kern::WeightType>(table.getType());
  SmallVector<int64_t> offsets;
  SmallVector<int32_t> shifts;
  for (int64_t i = 0; i < kLanes; ++i) {
    offsets.push_back(i / 2 * kern::kPanel * 4);
    shifts.push_back(i % 2 ? 0 : 16);
  }
  Value panel = e.div(id, e.i64(kern::kPanel)),
        lane = e.rem(id, e.i64(kern::kPanel));
  Value words =
      e.add(e.mul(panel, type.getPaddedDepth() / 2), e.div(column, e.i64(2)));
  Value base = e.advance(e.weight(table),
                         e.mul(e.add(e.mul(words, kern::kPanel), lane), 4));
  Value distances =
      b.create<arith::ConstantOp>(e.location(), b.getI64VectorAttr(offsets));
  Value pointers = b.create<LLVM::GEPOp>(
      e.location(), LLVM::getFixedVectorType(e.ptrType(), kLanes),
      b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{distances});
  VectorType bits = e.vectorOf(b.getI32Type());
  Value zero = b.create<arith::ConstantOp>(e.location(), b.getZeroAttr(bits));
  Value pairs = b.create<LLVM::masked_gather>(
      e.location(), bits, pointers,
      mask ? mask : e.inverse(e.laneMask(e.i64(0))), ValueRange{zero}, 4);
  Value shift = b.create<arith::ConstantOp>(
      e.location(), DenseElementsAttr::get(bits, ArrayRef(shifts)));
  Value own = b.create<arith::AndIOp>(
      e.location(), b.create<arith::ShLIOp>(e.location(), pairs, shift),
      e.splatI32(int32_t(0xffff0000)));
  return b.create<arith::BitcastOp>(e.location(), e.f32Vector(), own);
}

/// Columns of row `id` of a table, whichever way it lies.
static Value loadTable(PhaseEmitter &e, Value table, Value id, Value column,
                       Value mask) {
  auto type = cast<kern::WeightType>(table.getType());
  int64_t width = type.getShape()[1];
  if (type.getLayout() != kern::WeightLayout::Panels32) {
    Row rows{e, e.weight(table), type.isBf16()};
    return rows.load(e.add(e.mul(id, width), column), mask);
  }
  if (type.isBf16())
    return gatherPairs(e, table, id, column, mask);
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
