// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates `kern.onednn` by its definition; the library is not called.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "dialects/attn/Attn.h"

using namespace mlir;

namespace transom {

using namespace kern;

static Result<void> evaluateMatmul(OneDnnOp op, Evaluation &e) {
  std::optional<Activation> kind = op.getActivation();
  const std::vector<Number> &weight = e.tensor(op.getWeights()[0]).real;
  const std::vector<Number> *bias =
      op.getWeights().size() > 1 ? &e.tensor(op.getWeights()[1]).real : nullptr;
  const int64_t n = e.kern->columns(op.getOuts());
  for (int64_t row = 0; row < e.kern->rows(op.getOuts()); ++row) {
    std::vector<Number> input = e.kern->readRow(op.getInput(), row);
    for (Number &x : input)
      x = makeExponent(x);
    for (int64_t i = 0; i < n; ++i) {
      Number sum =
          dot(bias ? (*bias)[i] : Number(), input, &weight[i * input.size()]);
      if (kind)
        sum = activate(*kind, sum);
      if (op.getResidual())
        sum += e.kern->read(op.getResidual(), row, i);
      e.kern->write(op.getOuts(), row, i, sum);
    }
  }
  return {};
}

/// The matrix index in an operand whose leading sizes broadcast.
static Sizes getMatrix(ArrayRef<int64_t> sizes, ArrayRef<int64_t> index) {
  Sizes own;
  const size_t skipped = index.size() - sizes.size();
  for (size_t d = 0; d + 2 < sizes.size(); ++d)
    own.push_back(sizes[d] == 1 ? 0 : index[skipped + d]);
  own.append({0, 0});
  return own;
}

static Result<void> evaluateBatchMatmul(OneDnnOp op, Evaluation &e) {
  const Sizes &sizes = e.kern->sizes(op.getOuts());
  const Sizes &left = e.kern->sizes(op.getInput());
  const Sizes &right = e.kern->sizes(op.getRhs());
  std::vector<Number> row(left.back()), column(left.back());
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    Sizes a = getMatrix(left, index), b = getMatrix(right, index);
    a[a.size() - 2] = index[index.size() - 2];
    b.back() = index.back();
    for (int64_t k = 0; k < left.back(); ++k) {
      a.back() = b[b.size() - 2] = k;
      row[k] = e.kern->read(op.getInput(), a);
      column[k] = e.kern->read(op.getRhs(), b);
    }
    e.kern->write(op.getOuts(), index, dot(0.0, row, column.data()));
  });
  return {};
}

static Result<void> evaluateRows(OneDnnOp op, Evaluation &e) {
  for (int64_t row = 0; row < e.kern->rows(op.getOuts()); ++row) {
    std::vector<Number> line = e.kern->readRow(op.getInput(), row);
    if (op.getPrimitive() == OneDnnPrimitive::Softmax)
      softmax(line);
    else
      layerNorm(line, e.tensor(op.getWeights()[0]).real,
                op.getWeights().size() > 1 ? &e.tensor(op.getWeights()[1]).real
                                           : nullptr,
                op.getEps()->convertToDouble());
    for (size_t i = 0; i < line.size(); ++i)
      e.kern->write(op.getOuts(), row, i, line[i]);
  }
  return {};
}

static Result<void> evaluateOneDnn(OneDnnOp op, Evaluation &e) {
  switch (op.getPrimitive()) {
  case OneDnnPrimitive::Matmul:
    return evaluateMatmul(op, e);
  case OneDnnPrimitive::BatchMatmul:
    return evaluateBatchMatmul(op, e);
  case OneDnnPrimitive::Softmax:
  case OneDnnPrimitive::LayerNorm:
    return evaluateRows(op, e);
  }
  llvm_unreachable("all primitives are evaluated");
}

void attachKernOneDnn(MLIRContext *context) {
  attachEvaluator<OneDnnOp, evaluateOneDnn>(context);
}

} // namespace transom
