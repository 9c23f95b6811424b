// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, casts, softmax and embeddings: a worker owns whole rows. A sum over
// columns is accumulated in 16 lanes, by column modulo 16, and a fixed tree
// adds the lanes.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/RowSummary.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The sum of `term(column, mask)` over the columns. Lanes after the last
/// column must be zero.
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

/// Rows that are normalized together. One row's sum is a dependent addition
/// chain, which alone would leave the FMA units idle.
static constexpr int64_t kNormRows = 4;

namespace {
/// Emits the norm for some consecutive rows.
class NormEmitter {
public:
  NormEmitter(PhaseEmitter &e, const NormRows &norm, Index first, int64_t rows)
      : e(e), norm(norm), first(first), count(e.numColumns(norm.input)) {
    for (int64_t i = 0; i < rows; ++i) {
      Index row = first + i;
      in.push_back(getRow(e, norm.input, row));
      for (Value out : norm.outs)
        outs.push_back({i, getRow(e, out, row)});
    }
  }

  void emit() {
    // Means; zero for an RMSNorm.
    means.assign(in.size(), e.splat(0.0));
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

    // Normalize, scale and shift, group by group if the result is quantized.
    if (!norm.quantized.numbers)
      return emitColumns(e.i64(0), count, outs);
    const int64_t size = norm.quantized.getGroup();
    forQuantizedGroups(e, norm.quantized, [&](Index group, int64_t columns) {
      Index begin = group * size;
      SmallVector<std::pair<int64_t, Row>> targets;
      for (auto &[i, out] : outs)
        targets.emplace_back(i, out.from(begin));
      auto getStage = [&](int64_t i) {
        return e.advance(norm.stage, i * size * 4);
      };
      const auto rows = static_cast<int64_t>(in.size());
      for (int64_t i = 0; i < rows; ++i)
        targets.emplace_back(i, Row{e, getStage(i)});
      emitColumns(begin, e.i64(columns), targets);
      for (int64_t i = 0; i < rows; ++i)
        emitQuantizedGroup(e, norm.quantized, first + i, group, columns,
                           getStage(i));
    });
  }

private:
  /// Normalizes `columns` columns in all rows from `begin` on, to targets that
  /// begin there.
  void emitColumns(Index begin, Index columns,
                   ArrayRef<std::pair<int64_t, Row>> targets) {
    e.forColumns(columns, [&](Index offset, Value m) {
      Index c = begin + offset;
      Value gamma = Row{e, e.weight(norm.gamma)}.load(c, m), beta;
      if (norm.beta)
        beta = Row{e, e.weight(norm.beta)}.load(c, m);
      SmallVector<Value> scaled;
      for (size_t i = 0; i < in.size(); ++i) {
        Value normal = e.mulF(e.subF(in[i].load(c, m), means[i]), factors[i]);
        scaled.push_back(beta ? e.fma(normal, gamma, beta)
                              : e.mulF(normal, gamma));
      }
      for (auto [i, out] : targets)
        out.store(scaled[i], offset, m);
    });
  }

  /// For each row, the average of `term(row, column, mask)` over the columns,
  /// in all lanes.
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
  Index first, count;
  SmallVector<Row> in;
  SmallVector<std::pair<int64_t, Row>> outs; ///< with the row index
  SmallVector<Value> means, factors;         ///< for each row
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

void NormRows::addResults(PhaseEmitter &e, ArrayRef<Value> results,
                          Value scales) {
  for (Value result : results) {
    if (!result)
      continue;
    if (!kern::isQuantized(result)) {
      outs.push_back(result);
      continue;
    }
    quantized = {result, scales};
    stage = e.stackBuffer(kNormRows * quantized.getGroup() * 4);
  }
}

static void lowerNorm(PhaseEmitter &e, kern::NormOp op) {
  NormRows norm{op.getInput(), op.getGamma(), op.getBeta(),
                op.getEps().convertToDouble(), op.getRms()};
  norm.addResults(e, {op.getOuts(), op.getCopy()}, op.getScales());
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

/// Combines vectors pairwise; `combine` is associative.
static Value combineAll(SmallVector<Value> vectors,
                        function_ref<Value(Value, Value)> combine) {
  while (vectors.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < vectors.size(); i += 2)
      next.push_back(combine(vectors[i], vectors[i + 1]));
    if (vectors.size() % 2)
      next.push_back(vectors.back());
    vectors = next;
  }
  return vectors[0];
}

/// Columns in a group whose vectors are in registers at the same time.
static constexpr int64_t kBlockColumns = 128;

namespace {
/// Quantizes a column group in a row, block by block.
class GroupQuantizer {
public:
  GroupQuantizer(PhaseEmitter &e, const QuantizedRows &rows, Index row,
                 Index group, int64_t columns, Value input)
      : e(e), in{e, input},
        out(getRow(e, rows.numbers, row).from(group * rows.getGroup())),
        scales(getRow(e, rows.scales, row).at(group * 2)), columns(columns) {}

  void emit() {
    // The max magnitude, compared by bits, which are larger yet if a value is
    // not finite.
    OpBuilder &b = e.builder();
    auto larger = [&](Value x, Value y) -> Value {
      return b.create<arith::MaxUIOp>(e.location(), x, y);
    };
    Value bits =
        foldBlocks(e.splatI32(0), [&](ArrayRef<Vector> block, Value carried) {
          SmallVector<Value> magnitudes{carried};
          for (const Vector &vector : block)
            magnitudes.push_back(e.bitcastWords(
                e.absF(in.load(vector.column, vector.mask)), b.getI32Type()));
          return combineAll(magnitudes, larger);
        });
    Value most = b.create<vector::ReductionOp>(
        e.location(), vector::CombiningKind::MAXUI, bits);
    Value isFinite = b.create<arith::CmpIOp>(
        e.location(), arith::CmpIPredicate::ult, most,
        b.create<arith::ConstantOp>(e.location(),
                                    b.getI32IntegerAttr(0x7f800000)));
    Value largest = b.create<arith::BitcastOp>(e.location(), e.f32Type(), most);
    Value isLarge = e.cmpLtF(e.f32(0x1p-100), largest);
    Value scale = e.select(isLarge, e.divF(largest, e.f32(127)), e.f32(0));
    e.store(e.select(isFinite, scale, e.f32(NAN)), scales);

    // If a value is not finite, all quantized values are zero.
    Value factor =
        e.splat(e.select(isLarge, e.divF(e.f32(127), largest), e.f32(0)));
    Value exists = e.splat(isFinite);
    Value sum =
        foldBlocks(e.splatI32(0), [&](ArrayRef<Vector> block, Value carried) {
          SmallVector<Value> wholes{carried};
          for (const Vector &vector : block) {
            Value x = in.load(vector.column, vector.mask);
            wholes.push_back(e.roundToWords(
                e.select(exists, e.mulF(x, factor), e.splat(0.0))));
            e.storeVector(e.truncateToBytes(wholes.back()),
                          out.at(vector.column), vector.mask);
          }
          return combineAll(wholes, [&](Value x, Value y) -> Value {
            return b.create<arith::AddIOp>(e.location(), x, y);
          });
        });
    const int64_t count = llvm::divideCeil(columns, kLanes);
    Value base = e.splatI32(
        static_cast<int32_t>(uint32_t(CodeEmitter::roundedBase) * count));
    Value wholes = b.create<arith::SIToFPOp>(
        e.location(), e.f32Vector(),
        b.create<arith::SubIOp>(e.location(), sum, base));
    e.store(e.sumLanes(wholes), e.advance(scales, 4));
  }

private:
  struct Vector {
    Index column;
    Value mask; ///< null if all columns exist
  };

  /// The vectors for `count` columns from `first` on.
  SmallVector<Vector> getVectors(Index first, int64_t count) {
    SmallVector<Vector> vectors;
    for (int64_t c = 0; c < count; c += kLanes)
      vectors.push_back({first + c, count - c < kLanes
                                        ? e.laneMask(e.i64(count - c))
                                        : Value()});
    return vectors;
  }

  /// Folds the blocks in the group, the last of which may have fewer columns.
  Value foldBlocks(Value init,
                   function_ref<Value(ArrayRef<Vector>, Value)> body) {
    const int64_t full = columns / kBlockColumns,
                  rest = columns % kBlockColumns;
    Value carried = init;
    if (full == 1)
      carried = body(getVectors(e.i64(0), kBlockColumns), carried);
    else if (full)
      carried =
          e.foldLoop(e.i64(0), e.i64(full * kBlockColumns), kBlockColumns,
                     carried, [&](Index first, Value value) {
                       return body(getVectors(first, kBlockColumns), value);
                     });
    if (rest)
      carried = body(getVectors(e.i64(full * kBlockColumns), rest), carried);
    return carried;
  }

  PhaseEmitter &e;
  Row in, out;
  Value scales;
  int64_t columns;
};
} // namespace

void lower::emitQuantizedGroup(PhaseEmitter &e, const QuantizedRows &rows,
                               Index row, Index group, int64_t columns,
                               Value input) {
  GroupQuantizer(e, rows, row, group, columns, input).emit();
}

void lower::forQuantizedGroups(PhaseEmitter &e, const QuantizedRows &rows,
                               function_ref<void(Index, int64_t)> body) {
  const int64_t size = rows.getGroup(), columns = rows.getColumns(),
                full = columns / size;
  e.forRange(e.i64(full), [&](Index group) { body(group, size); });
  if (columns % size)
    body(e.i64(full), columns % size);
}

static void lowerQuantize(PhaseEmitter &e, kern::QuantizeOp op) {
  const QuantizedRows rows{op.getOuts(), op.getScales()};
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row in = getRow(e, op.getInput(), row);
    forQuantizedGroups(e, rows, [&](Index group, int64_t columns) {
      emitQuantizedGroup(e, rows, row, group, columns,
                         in.at(group * rows.getGroup()));
    });
  });
}

static void lowerSoftmax(PhaseEmitter &e, kern::SoftmaxOp op) {
  Index count = e.numColumns(op.getInput());
  Value lowest = e.splat(-INFINITY), log2e = e.splat(1.4426950408889634);
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Row in = getRow(e, op.getInput(), row), out = getRow(e, op.getOuts(), row);

    // The maximum. A row with only minus infinity is shifted by zero.
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

    // Divide by the sum; a row without visible elements remains zero.
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

/// Emits the maximum in a column group that begins at `first`, and the sum of
/// its exponentials if `sum` is not NULL. `count` limits the columns; null: no
/// limit.
static void emitSummary(PhaseEmitter &e, Row in, Index first,
                        const Index *count, Value maximum, Value sum,
                        Value isSumAsked) {
  // A product with zero is NaN if the other factor is not finite.
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

/// Loads columns in row `id` from an embedding table in any layout.
static Value loadTable(PhaseEmitter &e, Value table, Index id, Index column,
                       Value mask) {
  auto type = cast<kern::WeightType>(table.getType());
  OperandFormat format = type.getFormat().getStorage();
  if (type.getLayout() != WeightLayout::Panels32) {
    Row rows{e, e.weight(table),
             &OperandLowering::get(OperandFormat::getRows(format.element))};
    return rows.load(id * type.getShape()[1] + column, mask);
  }
  // A weight shared with a GEMM is in panels.
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
    // Add up the rows from all tables.
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
