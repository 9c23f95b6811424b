// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs, norms, casts and embeddings in kern.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "dialects/attn/Attn.h"
#include <cmath>

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// The destination for a GEMM column.
struct Column {
  Value out;
  int64_t column;
};

} // namespace

/// The output buffer and column for each GEMM column.
static SmallVector<Column> getColumns(GemmOp op, Evaluation &e) {
  SmallVector<Column> all;
  for (Value out : op.getOuts())
    for (int64_t i = 0; i < e.kern->columns(out); ++i)
      all.push_back({out, i});
  return all;
}

/// All input rows times columns `begin` to `end`.
class GemmPanel {
public:
  GemmPanel(GemmOp op, Evaluation &e, int64_t begin, int64_t end)
      : begin(begin), width(end - begin) {
    ArrayRef<Number> bias;
    if (op.getBias())
      bias = ArrayRef(e.tensor(op.getBias()).real).slice(begin, width);
    products = multiplyRows(op, true, {0, e.kern->rows(op.getInput())},
                            {begin, end}, bias, e);
  }

  Number at(int64_t row, int64_t column) const {
    return products[row * width + column - begin];
  }

private:
  int64_t begin, width;
  std::vector<Number> products;
};

/// Destination buffers for result rows; quantized buffers also have scales.
struct RowResults {
  SmallVector<Value, 2> outs; ///< or null
  Value scales = {};

  void write(Evaluation &e, int64_t row, ArrayRef<Number> line) const {
    for (Value out : outs) {
      if (!out)
        continue;
      std::vector<Number> numbers = line.vec();
      if (isQuantized(out))
        quantize(e, row, numbers, *findQuantizedGroup(out, scales));
      for (size_t i = 0; i < line.size(); ++i)
        e.kern->write(out, row, i, numbers[i]);
    }
  }

private:
  void quantize(Evaluation &e, int64_t row, MutableArrayRef<Number> line,
                size_t size) const {
    for (size_t first = 0, i = 0; first < line.size(); first += size) {
      auto [scale, sum] =
          quantizeGroup(line.slice(first, std::min(size, line.size() - first)));
      e.kern->write(scales, row, i++, scale);
      e.kern->write(scales, row, i++, sum);
    }
  }
};

/// Normalizes the rows in the only output.
static void normalizeRows(GemmOp op, Evaluation &e, int64_t rows,
                          const std::vector<Number> &values) {
  const RowResults results{{op.getNormOut(), op.getNormCopy()},
                           op.getOutScales()};
  int64_t width = e.kern->columns(op.getOuts()[0]);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<Number> line(values.begin() + row * width,
                             values.begin() + (row + 1) * width);
    double eps = op.getNormEps()->convertToDouble();
    const std::vector<Number> &gamma = e.tensor(op.getNormGamma()).real;
    if (op.getNormRms())
      rmsNorm(line, gamma, eps);
    else
      layerNorm(line, gamma,
                op.getNormBeta() ? &e.tensor(op.getNormBeta()).real : nullptr,
                eps);
    results.write(e, row, line);
  }
}

/// The GEMM output row before the epilogue: a GLU alternates 8 gate and 8 up
/// rows.
static int64_t getGluRow(int64_t column, bool second) {
  return column / 8 * 16 + column % 8 + (second ? 8 : 0);
}

/// Writes the maxima and sums for a row of logits.
static void writeSummary(ValueRange outs, Evaluation &e, int64_t row,
                         ArrayRef<Number> logits) {
  RowSummary summary = summarizeRow(logits);
  for (auto [i, maximum] : llvm::enumerate(summary.maxima)) {
    e.kern->write(outs[0], row, static_cast<int64_t>(i), maximum);
    e.kern->write(outs[1], row, static_cast<int64_t>(i), summary.sums[i]);
  }
}

/// Selected columns: each is a panel with one column, so it equals the column
/// in the full GEMM.
static Result<void> evaluateColumns(GemmOp op, Evaluation &e) {
  const int64_t rows = e.kern->rows(op.getInput());
  const int64_t count = e.kern->columns(op.getOuts()[0]);
  const int64_t all = op.getWeight().getType().getShape()[0];
  if (op.getPanels())
    e.kern->scratch(op.getPanels());
  for (int64_t i = 0; i < count; ++i) {
    const auto id = static_cast<int64_t>(e.kern->readFlat(op.getColumns(), i));
    if (id < 0 || id >= all)
      return rejected("column " + std::to_string(id) +
                      " is outside a product of " + std::to_string(all) +
                      " columns");
    const GemmPanel panel(op, e, id, id + 1);
    for (int64_t row = 0; row < rows; ++row)
      e.kern->write(op.getOuts()[0], row, i, panel.at(row, id));
  }
  if (op.getPanels())
    e.kern->checkScratch(op.getPanels());
  return {};
}

/// Processes one panel at a time over all rows, since workers split both: if a
/// panel overwrites the input, the next panel detects it. In a machine's
/// memory, where each buffer is separate, processes many panels at once.
static Result<void> evaluateGemm(GemmOp op, Evaluation &e) {
  if (op.getColumns())
    return evaluateColumns(op, e);
  SmallVector<Column> columns = getColumns(op, e);
  int64_t rows = e.kern->rows(op.getInput());
  std::optional<Activation> kind = op.getActivation(), glu = op.getGlu();
  std::vector<int64_t> positions;
  if (op.getRagged())
    positions = KernEvaluation::keyPositions(e.ragged(op.getRagged()));
  int64_t n = static_cast<int64_t>(columns.size());
  std::vector<Number> values(rows * n);
  if (op.getNormCounters())
    e.kern->beginCounting(op.getNormCounters());
  const int64_t width = (e.kern->machine ? 32 : 1) * panelWidth;
  for (int64_t first = 0; first < n; first += width) {
    const int64_t end = std::min(n, first + width);
    const GemmPanel panel(op, e, glu ? getGluRow(first, false) : first,
                          glu ? getGluRow(end - 1, true) + 1 : end);
    for (int64_t row = 0; row < rows; ++row) {
      // Earlier rows may have overwritten it.
      e.kern->checkRow(op.getInput(), row);
      for (int64_t i = first; i < end; ++i) {
        Number x = panel.at(row, glu ? getGluRow(i, false) : i);
        if (glu)
          x = activate(*glu, x) * panel.at(row, getGluRow(i, true));
        if (kind)
          x = activate(*kind, x);
        if (op.getResidual())
          x += e.kern->read(op.getResidual(), row, i);
        values[row * n + i] = x;
        if (op.getOutScales() && !op.getNormGamma())
          continue;
        auto type = cast<BufferType>(columns[i].out.getType());
        e.kern->write(columns[i].out,
                      type.getKeyPanels() ? positions[row] : row,
                      columns[i].column, x);
      }
    }
  }
  if (op.getNormGamma())
    normalizeRows(op, e, rows, values);
  else if (op.getOutScales())
    for (int64_t row = 0; row < rows; ++row)
      RowResults{{op.getOuts()[0]}, op.getOutScales()}.write(
          e, row, ArrayRef(values).slice(row * n, n));
  if (op.getNormCounters())
    e.kern->endCounting(op.getNormCounters());
  for (int64_t row = 0; !op.getSummary().empty() && row < rows; ++row)
    writeSummary(op.getSummary(), e, row, ArrayRef(values).slice(row * n, n));
  return {};
}

static Result<void> evaluateBatchMatmul(BatchMatmulOp op, Evaluation &e) {
  const Sizes &sizes = e.kern->sizes(op.getOuts());
  ArrayRef<int64_t> left = e.kern->sizes(op.getLhs());
  ArrayRef<int64_t> right = e.kern->sizes(op.getRhs());
  int64_t k = left.back();
  std::vector<Number> row(k), column(k);
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    Sizes a = broadcastIndex(left.drop_back(2), index.drop_back(2));
    Sizes b = broadcastIndex(right.drop_back(2), index.drop_back(2));
    a.append({index[index.size() - 2], 0});
    b.append({0, index.back()});
    for (int64_t i = 0; i < k; ++i) {
      a.back() = i;
      b[b.size() - 2] = i;
      row[i] = e.kern->read(op.getLhs(), a);
      column[i] = e.kern->read(op.getRhs(), b);
    }
    e.kern->write(op.getOuts(), index, dot(0.0, row, column.data()));
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Reads each row, changes it, and writes it to the results.
template <typename Function>
static void forEachRow(Evaluation &e, Value input, const RowResults &results,
                       Function function) {
  RowRange range = e.kern->share(e.kern->rows(input));
  for (int64_t row = range.begin; row < range.end; ++row) {
    std::vector<Number> line = e.kern->readRow(input, row);
    function(line);
    results.write(e, row, line);
  }
}

static Result<void> evaluateNorm(NormOp op, Evaluation &e) {
  const std::vector<Number> &gamma = e.tensor(op.getGamma()).real;
  const std::vector<Number> *beta =
      op.getBeta() ? &e.tensor(op.getBeta()).real : nullptr;
  double eps = op.getEps().convertToDouble();
  const RowResults results{{op.getOuts(), op.getCopy()}, op.getScales()};
  forEachRow(e, op.getInput(), results, [&](std::vector<Number> &line) {
    if (op.getRms())
      rmsNorm(line, gamma, eps);
    else
      layerNorm(line, gamma, beta, eps);
  });
  return {};
}

static Result<void> evaluateCast(kern::CastOp op, Evaluation &e) {
  forEachRow(e, op.getInput(), {{op.getOuts()}}, [](std::vector<Number> &) {});
  return {};
}

static Result<void> evaluateQuantize(kern::QuantizeOp op, Evaluation &e) {
  forEachRow(e, op.getInput(), {{op.getOuts()}, op.getScales()},
             [](std::vector<Number> &) {});
  return {};
}

static Result<void> evaluateSoftmax(kern::SoftmaxOp op, Evaluation &e) {
  forEachRow(e, op.getInput(), {{op.getOuts()}},
             [](std::vector<Number> &line) { softmax(line); });
  return {};
}

static Result<void> evaluateRowSummary(kern::RowSummaryOp op, Evaluation &e) {
  for (int64_t row = 0; row < e.kern->rows(op.getInput()); ++row)
    writeSummary(op.getOuts(), e, row, e.kern->readRow(op.getInput(), row));
  return {};
}

static Result<void> evaluateEmbedding(kern::EmbeddingOp op, Evaluation &e) {
  RowRange range = e.kern->share(e.kern->rows(op.getOuts()));
  int64_t width = e.kern->columns(op.getOuts());
  for (int64_t row = range.begin; row < range.end; ++row) {
    std::vector<Number> line(width);
    bool isFirst = true;
    for (auto [ids, table, scale] :
         llvm::zip_equal(op.getIds(), op.getTables(), op.getScales())) {
      const Tensor &weight = e.tensor(table);
      auto id = static_cast<int64_t>(e.kern->readFlat(ids, row));
      if (id < 0 || id >= weight.sizes[0])
        return rejected("index " + std::to_string(id) +
                        " is outside a table of " +
                        std::to_string(weight.sizes[0]) + " rows");
      for (int64_t i = 0; i < width; ++i) {
        Number x = weight.real[id * width + i];
        if (scale != 1)
          x *= constant(scale);
        line[i] = isFirst ? x : line[i] + x;
      }
      isFirst = false;
    }
    for (int64_t i = 0; i < width; ++i)
      e.kern->write(op.getOuts(), row, i, line[i]);
  }
  return {};
}

void attachKernRows(MLIRContext *context) {
  attachEvaluator<GemmOp, evaluateGemm>(context);
  attachEvaluator<BatchMatmulOp, evaluateBatchMatmul>(context);
  attachEvaluator<NormOp, evaluateNorm>(context);
  attachEvaluator<kern::CastOp, evaluateCast>(context);
  attachEvaluator<kern::QuantizeOp, evaluateQuantize>(context);
  attachEvaluator<kern::SoftmaxOp, evaluateSoftmax>(context);
  attachEvaluator<kern::RowSummaryOp, evaluateRowSummary>(context);
  attachEvaluator<kern::EmbeddingOp, evaluateEmbedding>(context);
}

} // namespace transom
