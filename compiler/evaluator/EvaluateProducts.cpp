// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs, norms and softmax.
#include "compiler/evaluator/Evaluation.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "dialects/attn/Attn.h"

using namespace mlir;

namespace transom {

using namespace attn;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The tensor with its last two dimensions swapped.
static Tensor transposed(const Tensor &input) {
  size_t rank = input.sizes.size();
  Sizes sizes = input.sizes;
  std::swap(sizes[rank - 1], sizes[rank - 2]);
  std::vector<int64_t> sources;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    Sizes source(index);
    std::swap(source[rank - 1], source[rank - 2]);
    sources.push_back(flatten(input.sizes, source));
  });
  return input.pick(sizes, sources);
}

/// The tensor with its leading dimensions broadcast.
static Tensor withLead(const Tensor &input, ArrayRef<int64_t> lead) {
  Sizes sizes(lead);
  sizes.append(input.sizes.end() - 2, input.sizes.end());
  return input.broadcastTo(sizes);
}

static Result<void> evaluateMatmul(MatmulOp op, Evaluation &e) {
  Tensor a = e.tensor(op.getLhs()), b = e.tensor(op.getRhs());
  if (op.getTransposeLhs())
    a = transposed(a);
  if (op.getTransposeRhs())
    b = transposed(b);
  Sizes lead = broadcastSizes(ArrayRef(a.sizes).drop_back(2),
                              ArrayRef(b.sizes).drop_back(2));
  a = withLead(a, lead);
  b = withLead(b, lead);
  int64_t m = a.sizes[a.rank() - 2], k = a.sizes.back(), n = b.sizes.back();
  Sizes sizes = lead;
  sizes.append({m, n});
  Tensor result = Tensor::floats(sizes);
  for (int64_t matrix = 0; matrix < getNumElements(lead); ++matrix)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column)
        result.real[(matrix * m + row) * n + column] =
            dot(0.0, &a.real[(matrix * m + row) * k], 1,
                b.real.data() + matrix * k * n + column, n, k);
  e.set(op.getResult(), std::move(result));
  return {};
}

/// Selected rows in a weight or bias.
static Result<Tensor> pickRows(const Tensor &all, const Tensor &columns) {
  const int64_t width = all.rank() > 1 ? all.sizes[1] : 1;
  std::vector<int64_t> sources;
  for (int64_t column : columns.whole) {
    if (column < 0 || column >= all.sizes[0])
      return rejected("column " + std::to_string(column) +
                      " is outside a product of " +
                      std::to_string(all.sizes[0]) + " columns");
    for (int64_t i = 0; i < width; ++i)
      sources.push_back(column * width + i);
  }
  Sizes sizes = all.sizes;
  sizes[0] = columns.sizes[0];
  return all.pick(sizes, sources);
}

static Result<void> evaluateLinear(LinearOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  const Tensor *all = &e.tensor(op.getWeight());
  e.observeInput(op, input);
  ArrayRef<Number> bias;
  if (op.getBias())
    bias = e.tensor(op.getBias()).real;
  // Selected columns use only their weight rows and biases.
  Tensor picked, pickedBias;
  if (op.getColumns()) {
    const Tensor &columns = e.tensor(op.getColumns());
    TRANSOM_ASSIGN(picked, pickRows(*all, columns));
    all = &picked;
    if (op.getBias()) {
      TRANSOM_ASSIGN(pickedBias, pickRows(e.tensor(op.getBias()), columns));
      bias = pickedBias.real;
    }
  }
  // All input rows at once.
  const Tensor &weight = *all;
  int64_t n = weight.sizes[0], k = weight.sizes[1];
  Sizes sizes = input.sizes;
  sizes.back() = n;
  Tensor result = Tensor::floats(sizes);
  int64_t rows = getNumElements(ArrayRef(input.sizes).drop_back());
  std::vector<Number> lines(input.real.begin(), input.real.end());
  for (Number &x : lines)
    x = makeExponent(x);
  dotRows(bias, lines, weight.real.data(), rows, n, result.real.data());
  e.set(op.getResult(), std::move(result));
  return {};
}

//===----------------------------------------------------------------------===//
// Functions of rows
//===----------------------------------------------------------------------===//

/// Calls `function` with each row along the last dimension.
template <typename Function>
static void forEachRow(Tensor &tensor, Function function) {
  int64_t width = tensor.sizes.back();
  for (int64_t start = 0; start < tensor.count(); start += width)
    function(llvm::MutableArrayRef<Number>(tensor.real).slice(start, width));
}

static Result<void> evaluateSoftmax(SoftmaxOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  forEachRow(result, softmax);
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateRowSummary(RowSummaryOp op, Evaluation &e) {
  Tensor input = e.tensor(op.getInput());
  TRANSOM_ASSIGN(Sizes sizes, e.sizes(op.getMaxima().getType()));
  RowSummary all;
  forEachRow(input, [&](llvm::MutableArrayRef<Number> row) {
    RowSummary summary = summarizeRow(row);
    llvm::append_range(all.maxima, summary.maxima);
    llvm::append_range(all.sums, summary.sums);
  });
  e.set(op.getMaxima(), Tensor::of(sizes, std::move(all.maxima)));
  e.set(op.getSums(), Tensor::of(sizes, std::move(all.sums)));
  return {};
}

static Result<void> evaluateLayerNorm(LayerNormOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  const Tensor &gamma = e.tensor(op.getGamma());
  const Tensor *beta = op.getBeta() ? &e.tensor(op.getBeta()) : nullptr;
  forEachRow(result, [&](llvm::MutableArrayRef<Number> row) {
    layerNorm(row, gamma.real, beta ? &beta->real : nullptr,
              op.getEps().convertToDouble());
  });
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateRmsNorm(RmsNormOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  const Tensor &gamma = e.tensor(op.getGamma());
  forEachRow(result, [&](llvm::MutableArrayRef<Number> row) {
    rmsNorm(row, gamma.real, op.getEps().convertToDouble());
  });
  e.set(op.getResult(), std::move(result));
  return {};
}

void attachProducts(MLIRContext *context) {
  attachEvaluator<MatmulOp, evaluateMatmul>(context);
  attachEvaluator<LinearOp, evaluateLinear>(context);
  attachEvaluator<SoftmaxOp, evaluateSoftmax>(context);
  attachEvaluator<RowSummaryOp, evaluateRowSummary>(context);
  attachEvaluator<LayerNormOp, evaluateLayerNorm>(context);
  attachEvaluator<RmsNormOp, evaluateRmsNorm>(context);
}

} // namespace transom
