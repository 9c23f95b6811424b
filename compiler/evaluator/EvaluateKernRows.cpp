// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products, norms, embeddings and elementwise regions of kern.
#include "compiler/evaluator/KernEvaluation.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// Where a column of a product goes.
struct Column {
  Value out;
  int64_t column;
};

} // namespace

/// The out and the column in it of each column of the product.
static SmallVector<Column> getColumns(GemmOp op, Evaluation &e) {
  SmallVector<Column> all;
  for (Value out : op.getOuts())
    for (int64_t i = 0; i < e.kern->columns(out); ++i)
      all.push_back({out, i});
  return all;
}

/// The product of all rows of the input with the columns from `begin` on.
class GemmPanel {
public:
  GemmPanel(GemmOp op, Evaluation &e, int64_t begin, int64_t end)
      : begin(begin), width(end - begin) {
    const std::vector<Number> &weight = e.tensor(op.getWeight()).real;
    const int64_t rows = e.kern->rows(op.getInput());
    std::vector<Number> inputs;
    for (int64_t row = 0; row < rows; ++row)
      llvm::append_range(inputs, e.kern->readRow(op.getInput(), row));
    makeExponents(inputs);
    ArrayRef<Number> bias;
    if (op.getBias())
      bias = ArrayRef(e.tensor(op.getBias()).real).slice(begin, width);
    products.resize(rows * width);
    const int64_t k = e.kern->columns(op.getInput());
    multiplyRows(op.getWeight().getType(), true, bias, inputs,
                 &weight[begin * k], rows, width, products.data());
  }

  Number at(int64_t row, int64_t column) const {
    return products[row * width + column - begin];
  }

private:
  int64_t begin, width;
  std::vector<Number> products;
};

/// The results of a norm that there are: f32, bf16, or both.
static SmallVector<Value> normOuts(Value out, Value rounded) {
  SmallVector<Value> outs;
  for (Value buffer : {out, rounded})
    if (buffer)
      outs.push_back(buffer);
  return outs;
}

/// The norm of the rows of the one out.
static void normalizeRows(GemmOp op, Evaluation &e, int64_t rows,
                          const std::vector<Number> &values) {
  SmallVector<Value> outs = normOuts(op.getNormOut(), op.getNormOutBf16());
  int64_t width = e.kern->columns(outs[0]);
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
    for (Value out : outs)
      for (int64_t i = 0; i < width; ++i)
        e.kern->write(out, row, i, line[i]);
  }
}

/// The number of an output of the product before its epilogue: of a GLU, 8
/// rows of gate and 8 of up alternate.
static int64_t getGluRow(int64_t column, bool second) {
  return column / 8 * 16 + column % 8 + (second ? 8 : 0);
}

/// Writes the maxima and sums of a row of logits.
static void writeSummary(ValueRange outs, Evaluation &e, int64_t row,
                         ArrayRef<Number> logits) {
  RowSummary summary = summarizeRow(logits);
  for (auto [i, maximum] : llvm::enumerate(summary.maxima)) {
    e.kern->write(outs[0], row, static_cast<int64_t>(i), maximum);
    e.kern->write(outs[1], row, static_cast<int64_t>(i), summary.sums[i]);
  }
}

/// Panel by panel over all rows, since workers share out both: an input that a
/// panel overwrites is then missed by the next. On a machine's bytes, where
/// each buffer has its own, many panels at once.
static Result<void> evaluateGemm(GemmOp op, Evaluation &e) {
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
        auto type = cast<BufferType>(columns[i].out.getType());
        e.kern->write(columns[i].out,
                      type.getKeyPanels() ? positions[row] : row,
                      columns[i].column, x);
      }
    }
  }
  if (op.getNormGamma())
    normalizeRows(op, e, rows, values);
  if (op.getNormCounters())
    e.kern->endCounting(op.getNormCounters());
  for (int64_t row = 0; !op.getSummary().empty() && row < rows; ++row)
    writeSummary(op.getSummary(), e, row, ArrayRef(values).slice(row * n, n));
  return {};
}

/// An index of the result's leading dimensions in an operand that broadcasts.
static Sizes broadcastIndex(ArrayRef<int64_t> sizes, ArrayRef<int64_t> index) {
  Sizes own;
  size_t lead = index.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d)
    own.push_back(sizes[d] == 1 ? 0 : index[lead + d]);
  return own;
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

/// Reads a row, changes it, and writes it to the results.
template <typename Function>
static void forEachRow(Evaluation &e, Value input, ValueRange outs,
                       Function function) {
  RowRange range = e.kern->share(e.kern->rows(input));
  for (int64_t row = range.begin; row < range.end; ++row) {
    std::vector<Number> line = e.kern->readRow(input, row);
    function(line);
    for (Value out : outs)
      for (size_t i = 0; i < line.size(); ++i)
        e.kern->write(out, row, i, line[i]);
  }
}

static Result<void> evaluateNorm(NormOp op, Evaluation &e) {
  const std::vector<Number> &gamma = e.tensor(op.getGamma()).real;
  const std::vector<Number> *beta =
      op.getBeta() ? &e.tensor(op.getBeta()).real : nullptr;
  double eps = op.getEps().convertToDouble();
  SmallVector<Value> outs = normOuts(op.getOuts(), op.getOutBf16());
  forEachRow(e, op.getInput(), outs, [&](std::vector<Number> &line) {
    if (op.getRms())
      rmsNorm(line, gamma, eps);
    else
      layerNorm(line, gamma, beta, eps);
  });
  return {};
}

static Result<void> evaluateCast(kern::CastOp op, Evaluation &e) {
  forEachRow(e, op.getInput(), {op.getOuts()}, [](std::vector<Number> &) {});
  return {};
}

static Result<void> evaluateSoftmax(kern::SoftmaxOp op, Evaluation &e) {
  forEachRow(e, op.getInput(), {op.getOuts()},
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

//===----------------------------------------------------------------------===//
// Elementwise regions
//===----------------------------------------------------------------------===//

static bool compare(arith::CmpFPredicate predicate, Number x, Number y) {
  double a = x.real(), b = y.real();
  if (x.isReference() || y.isReference()) {
    a = Domain::getCurrent()->compare(x, y);
    b = 0;
  }
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::UNE:
    return a != b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  default:
    return false;
  }
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  default:
    return false;
  }
}

static Number getConstant(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return constant(number.getValueAsDouble());
  auto number = cast<IntegerAttr>(op.getValue());
  return static_cast<double>(number.getType().isInteger(1)
                                 ? number.getValue().getZExtValue()
                                 : number.getInt());
}

/// x / y of integers: by zero it is x, by -1 it wraps around.
static int64_t divide(int64_t x, int64_t y) {
  if (y == -1)
    return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return y == 0 ? x : x / y;
}

/// One scalar operation; nothing for one that regions do not hold.
static std::optional<Number> scalar(Operation *op, ArrayRef<Number> in) {
  // Every value is a number; operations on integers convert it.
  auto whole = [&](unsigned i) { return static_cast<int64_t>(in[i]); };
  auto bits = [&](unsigned i) { return static_cast<uint64_t>(whole(i)); };
  auto fromInteger = [](int64_t x) { return Number(static_cast<double>(x)); };
  using Maybe = std::optional<Number>;
  return llvm::TypeSwitch<Operation *, Maybe>(op)
      .Case([&](arith::ConstantOp op) { return getConstant(op); })
      .Case([&](arith::AddFOp) { return in[0] + in[1]; })
      .Case([&](arith::SubFOp) { return in[0] - in[1]; })
      .Case([&](arith::MulFOp) { return in[0] * in[1]; })
      .Case([&](arith::DivFOp) { return in[0] / in[1]; })
      .Case([&](arith::AddIOp) { return fromInteger(bits(0) + bits(1)); })
      .Case([&](arith::SubIOp) { return fromInteger(bits(0) - bits(1)); })
      .Case([&](arith::MulIOp) { return fromInteger(bits(0) * bits(1)); })
      .Case([&](arith::DivSIOp) {
        return fromInteger(divide(whole(0), whole(1)));
      })
      .Case([&](arith::AndIOp) { return fromInteger(whole(0) & whole(1)); })
      .Case([&](arith::OrIOp) { return fromInteger(whole(0) | whole(1)); })
      .Case([&](arith::XOrIOp) { return fromInteger(whole(0) ^ whole(1)); })
      .Case([&](arith::CmpFOp op) {
        return fromInteger(compare(op.getPredicate(), in[0], in[1]));
      })
      .Case([&](arith::CmpIOp op) {
        return fromInteger(compare(op.getPredicate(), whole(0), whole(1)));
      })
      .Case([&](arith::SelectOp) { return whole(0) != 0 ? in[1] : in[2]; })
      .Case<arith::ExtUIOp, arith::UIToFPOp, arith::SIToFPOp>(
          [&](auto) { return in[0]; })
      .Case([&](arith::FPToSIOp) {
        return in[0].isReference() ? fromInteger(whole(0))
                                   : Number(std::trunc(in[0].real()));
      })
      .Case([&](arith::ExtFOp) { return in[0]; })
      .Case([&](arith::TruncFOp) {
        return roundToStorage(StorageType::BF16, in[0]);
      })
      .Case([&](ApplyOp op) -> Maybe { return activate(op.getKind(), in[0]); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The region for the elements of one index.
static Result<Number> runRegion(ElementwiseOp op, ArrayRef<Number> inputs) {
  llvm::DenseMap<Value, Number> values;
  Block &block = op.getBody().front();
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), inputs))
    values[argument] = value;
  for (Operation &inner : block) {
    SmallVector<Number> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(values.lookup(operand));
    if (isa<YieldOp>(inner))
      return operands[0];
    std::optional<Number> value = scalar(&inner, operands);
    if (!value)
      return unsupported("'" + inner.getName().getStringRef().str() +
                         "' in a region is not known to the evaluator");
    values[inner.getResult(0)] = *value;
  }
  return rejected("a region without an end");
}

/// An element of a buffer or weight that broadcasts to the index.
static Number operandAt(Value operand, ArrayRef<int64_t> index, Evaluation &e) {
  if (isa<BufferType>(operand.getType()))
    return e.kern->read(operand, broadcastIndex(e.kern->sizes(operand), index));
  const Tensor &weight = e.tensor(operand);
  return weight.number(
      flatten(weight.sizes, broadcastIndex(weight.sizes, index)));
}

static Result<void> evaluateElementwise(ElementwiseOp op, Evaluation &e) {
  const Sizes &sizes = e.kern->sizes(op.getOuts());
  RowRange range = e.kern->share(e.kern->rows(op.getOuts()));
  int64_t number = 0, columns = e.kern->columns(op.getOuts());
  Result<void> outcome;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    int64_t row = number++ / columns;
    if (!outcome || row < range.begin || row >= range.end)
      return;
    SmallVector<Number> inputs;
    for (Value operand : op.getInputs())
      inputs.push_back(operandAt(operand, index, e));
    Result<Number> value = runRegion(op, inputs);
    if (value)
      e.kern->write(op.getOuts(), index, *value);
    else
      outcome = value.takeError();
  });
  return outcome;
}

void attachKernRows(MLIRContext *context) {
  attachEvaluator<GemmOp, evaluateGemm>(context);
  attachEvaluator<BatchMatmulOp, evaluateBatchMatmul>(context);
  attachEvaluator<NormOp, evaluateNorm>(context);
  attachEvaluator<kern::CastOp, evaluateCast>(context);
  attachEvaluator<kern::SoftmaxOp, evaluateSoftmax>(context);
  attachEvaluator<kern::RowSummaryOp, evaluateRowSummary>(context);
  attachEvaluator<kern::EmbeddingOp, evaluateEmbedding>(context);
  attachEvaluator<ElementwiseOp, evaluateElementwise>(context);
}

} // namespace transom
