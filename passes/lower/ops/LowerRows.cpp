// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, casts, softmax and embeddings: a worker owns whole rows. A sum over
// columns is accumulated in 16 lanes, by column modulo 16, that a fixed tree
// adds up.
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/RowSummary.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The sum of `term(column, mask)` over the columns. Lanes after the last
/// column must give zero.
static Value sumColumns(PhaseEmitter &e, Index count,
                        function_ref<Value(Index, Value)> term) {
  Value lanes = e.foldColumns(
      count, e.splat(0.0), [&](Index column, Value mask, ValueRange sum) {
        return SmallVector<Value>{e.addF(sum[0], term(column, mask))};
      })[0];
  return e.sumLanes(lanes);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Number of rows that are normalized together. The sum of one row is a chain
/// of dependent additions, which alone would leave the FMA units idle.
static constexpr int64_t kNormRows = 4;

namespace {
/// Emits the norm of some consecutive rows.
class NormEmitter {
public:
  NormEmitter(PhaseEmitter &e, const NormRows &norm, Index first, int64_t rows)
      : e(e), norm(norm), count(e.numColumns(norm.input)) {
    for (int64_t i = 0; i < rows; ++i) {
      Index row = first + i;
      in.push_back(getRow(e, norm.input, row));
      for (Value out : {norm.output, norm.outputBf16})
        if (out)
          outs.push_back({i, getRow(e, out, row)});
    }
  }

  void emit() {
    // Means; zero for an RMSNorm.
    SmallVector<Value> means(in.size(), e.splat(0.0)), factors;
    if (!norm.rms)
      means = averageColumns(
          [&](size_t i, Index c, Value m) { return in[i].load(c, m); });

    // Variances and the factors 1 / sqrt(variance + eps).
    SmallVector<Value> variances =
        averageColumns([&](size_t i, Index c, Value m) {
          Value d = e.subF(in[i].load(c, m), means[i]);
          Value square = e.mulF(d, d);
          return m ? e.select(m, square, e.splat(0.0)) : square;
        });
    for (Value variance : variances) {
      Value deviation =
          e.sqrtF(e.addF(e.extract(variance, 0), e.f32(norm.eps)));
      factors.push_back(e.splat(e.divF(e.f32(1), deviation)));
    }

    // Normalize, scale and shift.
    e.forColumns(count, [&](Index c, Value m) {
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
  /// For each row the average of `term(row, column, mask)` over the columns, in
  /// all lanes.
  SmallVector<Value>
  averageColumns(function_ref<Value(size_t, Index, Value)> term) {
    double width = *getBufferType(norm.input).getDims().back().constant();
    SmallVector<Value> zeros(in.size(), e.splat(0.0)), result;
    SmallVector<Value> sums = e.foldColumns(
        count, zeros, [&](Index column, Value mask, ValueRange carried) {
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
  const NormRows &norm;
  Index count;
  SmallVector<Row> in;
  SmallVector<std::pair<int64_t, Row>> outs; ///< with the index of the row
};
} // namespace

void lower::emitNormRows(PhaseEmitter &e, const NormRows &norm, Index from,
                         Index to) {
  // Groups of rows, then the rest one by one.
  Index endOfGroups = to - (to - from) % kNormRows;
  e.forLoop(from, endOfGroups, kNormRows,
            [&](Index row) { NormEmitter(e, norm, row, kNormRows).emit(); });
  e.forLoop(endOfGroups, to, 1,
            [&](Index row) { NormEmitter(e, norm, row, 1).emit(); });
}

static void lowerNorm(PhaseEmitter &e, kern::NormOp op) {
  NormRows norm{op.getInput(),
                op.getOuts(),
                op.getGamma(),
                op.getBeta(),
                op.getEps().convertToDouble(),
                op.getRms(),
                op.getOutBf16()};
  auto [from, to] = e.workerRange(e.numRows(op.getOuts()));
  emitNormRows(e, norm, from, to);
}

//===----------------------------------------------------------------------===//
// Casts and softmax
//===----------------------------------------------------------------------===//

static void lowerCast(PhaseEmitter &e, kern::CastOp op) {
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row in = getRow(e, op.getInput(), row), out = getRow(e, op.getOuts(), row);
    e.forColumns(e.numColumns(op.getInput()),
                 [&](Index c, Value m) { out.store(in.load(c, m), c, m); });
  });
}

std::pair<Value, Value>
lower::emitLargest(PhaseEmitter &e, int64_t count,
                   function_ref<Value(Index, Value)> load) {
  SmallVector<Value> found = e.foldColumns(
      e.i64(count), {e.splat(0.0), e.splat(0.0)},
      [&](Index c, Value m, ValueRange carried) {
        Value x = load(c, m);
        return SmallVector<Value>{e.maxF(e.absF(x), carried[0]),
                                  e.addF(carried[1], e.mulF(x, e.splat(0.0)))};
      });
  return {e.maxLanes(found[0]), e.sumLanes(found[1])};
}

/// Quantizes a group of `count` columns of a row.
static void emitQuantizedGroup(PhaseEmitter &e, Row &in, Row &out, Value scales,
                               Index first, int64_t count) {
  auto load = [&](Index c, Value m) { return in.load(first + c, m); };
  auto [largest, zero] = emitLargest(e, count, load);
  Value isLarge = e.cmpLtF(e.f32(0x1p-100), largest);
  Value scale = e.select(isLarge, e.divF(largest, e.f32(127)), e.f32(0));
  e.store(e.addF(scale, zero), scales);

  // Where a number is not finite all are zero.
  Value isFinite = e.cmpLtF(e.f32(-1), zero);
  Value inverse = e.select(e.logicalAnd(isLarge, isFinite),
                           e.divF(e.f32(127), largest), e.f32(0));
  Value factor = e.splat(inverse), exists = e.splat(isFinite);
  Value sums = e.foldColumns(
      e.i64(count), {e.splat(0.0)}, [&](Index c, Value m, ValueRange carried) {
        Value x = e.select(exists, load(c, m), e.splat(0.0));
        Value whole = out.format->round(e, e.mulF(x, factor));
        e.storeVector(whole, out.at(first + c), m);
        return SmallVector<Value>{
            e.addF(carried[0], out.format->widen(e, whole))};
      })[0];
  e.store(e.sumLanes(sums), e.advance(scales, 4));
}

static void lowerQuantize(PhaseEmitter &e, kern::QuantizeOp op) {
  const int64_t columns =
                    *getBufferType(op.getInput()).getDims().back().constant(),
                group = static_cast<int64_t>(op.getGroup());
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row in = getRow(e, op.getInput(), row), out = getRow(e, op.getOuts(), row);
    Row scales = getRow(e, op.getScales(), row);
    e.forRange(columns / group, [&](Index i) {
      emitQuantizedGroup(e, in, out, scales.at(i * 2), i * group, group);
    });
    if (int64_t rest = columns % group)
      emitQuantizedGroup(e, in, out, scales.at(e.i64(columns / group * 2)),
                         e.i64(columns / group * group), rest);
  });
}

static void lowerSoftmax(PhaseEmitter &e, kern::SoftmaxOp op) {
  Index count = e.numColumns(op.getInput());
  Value lowest = e.splat(-INFINITY), log2e = e.splat(1.4426950408889634);
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row in = getRow(e, op.getInput(), row), out = getRow(e, op.getOuts(), row);

    // The maximum. A row of minus infinity is shifted by zero.
    Value lanes =
        e.foldColumns(count, lowest, [&](Index c, Value m, ValueRange carried) {
          Value x = in.load(c, m);
          return SmallVector<Value>{
              e.maxF(m ? e.select(m, x, lowest) : x, carried[0])};
        })[0];
    Value maximum = e.maxLanes(lanes);
    Value shift = e.splat(
        e.select(e.cmpLtF(e.f32(-INFINITY), maximum), maximum, e.f32(0)));

    // The exponentials and their sum.
    Value sum = sumColumns(e, count, [&](Index c, Value m) {
      Value x = in.load(c, m);
      Value p = emitExp2OfNonPositive(e, e.mulF(e.subF(x, shift), log2e));
      out.store(p, c, m);
      return m ? e.select(m, p, e.splat(0.0)) : p;
    });

    // Divide by the sum; a row without visible elements stays zero.
    Value sums = e.splat(sum);
    Value divisor = e.select(emitIsEmptySum(e, sums), e.splat(1.0), sums);
    e.forColumns(count, [&](Index c, Value m) {
      out.store(e.divF(out.load(c, m), divisor), c, m);
    });
  });
}

//===----------------------------------------------------------------------===//
// Summaries
//===----------------------------------------------------------------------===//

/// Emits the maximum of a group of columns that begins at `first`, and the sum
/// of its exponentials where `sum` is not NULL. `count` limits the columns;
/// null: there are all of them.
static void emitSummary(PhaseEmitter &e, Row in, Index first,
                        const Index *count, Value maximum, Value sum,
                        Value isSumAsked) {
  // A product with zero is NaN where the factor is not finite.
  SmallVector<Value> xs;
  Value lowest = e.splat(-INFINITY), lanes = lowest, zero = e.splat(0.0),
        zeros = zero;
  for (int64_t i = 0; i < summaryGroup; i += kLanes) {
    Value mask = count ? e.laneMask(*count - i) : Value();
    Value x = in.load(first + i, mask);
    zeros = e.fma(x, zero, zeros);
    xs.push_back(mask ? e.select(mask, x, lowest) : x);
    lanes = e.maxF(xs.back(), lanes);
  }
  Value top = e.addF(e.maxLanes(lanes), e.sumLanes(zeros));
  e.store(top, maximum);

  e.ifThen(isSumAsked, [&] {
    Value shift = e.splat(top), log2e = e.splat(1.4426950408889634), lanes;
    for (Value x : xs) {
      Value p = emitExp2OfNonPositive(e, e.mulF(e.subF(x, shift), log2e));
      lanes = lanes ? e.addF(lanes, p) : p;
    }
    e.store(e.sumLanes(lanes), sum);
  });
}

Value lower::emitIsSummaryAsked(PhaseEmitter &e, ValueRange outs) {
  return e.logicalNot(e.isNull(e.pointer(outs[0])));
}

void lower::emitRowSummary(PhaseEmitter &e, Value input, ValueRange outs,
                           Index row, Index group) {
  int64_t columns = *getBufferType(input).getDims().back().constant();
  int64_t full = columns / summaryGroup;
  Row in = getRow(e, input, row);
  Index first = group * summaryGroup;
  Index bytes = (row * getNumSummaryGroups(columns) + group) * 4;
  Value maximum = e.advance(e.pointer(outs[0]), bytes);
  Value sums = e.pointer(outs[1]), isSumAsked = e.logicalNot(e.isNull(sums));
  auto emit = [&](const Index *count) {
    emitSummary(e, in, first, count, maximum, e.advance(sums, bytes),
                isSumAsked);
  };

  // The last group may have fewer columns.
  if (columns % summaryGroup == 0)
    return emit(nullptr);
  e.ifThen(group < full, [&] { emit(nullptr); });
  e.ifThen(group == full, [&] {
    Index count = e.i64(columns % summaryGroup);
    emit(&count);
  });
}

static void lowerRowSummary(PhaseEmitter &e, kern::RowSummaryOp op) {
  int64_t groups = getNumSummaryGroups(
      *getBufferType(op.getInput()).getDims().back().constant());
  e.ifThen(emitIsSummaryAsked(e, op.getOuts()), [&] {
    e.forWorkerRange(e.numRows(op.getInput()) * groups, [&](Index pair) {
      emitRowSummary(e, op.getInput(), op.getOuts(), pair / groups,
                     pair % groups);
    });
  });
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

/// Loads columns of row `id` of an embedding table in any layout.
static Value loadTable(PhaseEmitter &e, Value table, Index id, Index column,
                       Value mask) {
  auto type = cast<kern::WeightType>(table.getType());
  OperandFormat format = type.getFormat().getStorage();
  if (type.getLayout() != WeightLayout::Panels32) {
    Row rows{e, e.weight(table),
             &OperandLowering::get(OperandFormat::getRows(format.element))};
    return rows.load(id * type.getShape()[1] + column, mask);
  }
  // A weight shared with a product is in panels.
  return OperandLowering::get(format).loadColumns(
      e, e.weight(table), type.getShape()[1], id, column, mask);
}

static void lowerEmbedding(PhaseEmitter &e, kern::EmbeddingOp op) {
  Index count = e.numColumns(op.getOuts());
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row out = getRow(e, op.getOuts(), row);
    SmallVector<Index> ids;
    for (Value buffer : op.getIds())
      ids.push_back(e.loadI64(e.advance(e.pointer(buffer), row * 8)));
    // Add up the rows of all tables.
    e.forColumns(count, [&](Index c, Value m) {
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

void lower::addRowLowerings(Lowerings &lowerings) {
  lowerings.add<kern::NormOp, lowerNorm>();
  lowerings.add<kern::CastOp, lowerCast>();
  lowerings.add<kern::QuantizeOp, lowerQuantize>();
  lowerings.add<kern::SoftmaxOp, lowerSoftmax>();
  lowerings.add<kern::RowSummaryOp, lowerRowSummary>();
  lowerings.add<kern::EmbeddingOp, lowerEmbedding>();
}
