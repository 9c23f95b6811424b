// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounded sizes, and tokens sorted by group.
#include "compiler/evaluator/kern/KernEvaluation.h"

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Bounded sizes
//===----------------------------------------------------------------------===//

Result<void> KernEvaluation::checkSizes(BufferOp op, Evaluation &e) const {
  for (const std::string &size : bounds.getUsed(op))
    if (!e.size(Polynomial::symbol(size)))
      return rejected("uses the size '" + size +
                      "', which no phase before this one writes");
  return {};
}

void KernEvaluation::forgetSize(BufferOp op, Evaluation &e) {
  if (FlatSymbolRefAttr size = op.getWrittenSize())
    e.unbind(size.getValue().str());
}

Result<void> KernEvaluation::writeSize(StringRef size, int64_t value,
                                       Evaluation &e) {
  TRANSOM_ASSIGN(int64_t bound,
                 e.size(bounds.getBound(Polynomial::symbol(size.str()))));
  if (value < 0 || value > bound)
    return rejected("size '" + size.str() + "' is " + std::to_string(value) +
                    ", over its bound " + std::to_string(bound));
  writtenSizes[size.str()] = value;
  return {};
}

Result<void> KernEvaluation::flushSizes(Evaluation &e) {
  if (writtenSizes.empty())
    return {};
  for (const auto &[size, value] : writtenSizes) {
    e.unbind(size);
    TRANSOM_TRY(e.bind(size, value));
  }
  writtenSizes.clear();
  for (auto &[buffer, held] : buffers)
    if (!bounds.getUsed(cast<BufferType>(buffer.getType())).empty())
      TRANSOM_TRY(updateSizes(buffer, held, e));
  return {};
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The elements in a table with group indices, group by group.
static Result<std::vector<std::vector<int64_t>>> getGroups(GroupTokensOp op,
                                                           Evaluation &e) {
  std::vector<std::vector<int64_t>> groups(op.getNumGroups());
  const int64_t choices = e.kern->columns(op.getGroups());
  for (int64_t i = 0; i < e.kern->rows(op.getGroups()) * choices; ++i) {
    auto group = static_cast<int64_t>(e.kern->readFlat(op.getGroups(), i));
    if (group >= op.getNumGroups())
      return rejected("group " + std::to_string(group) + " of token " +
                      std::to_string(i / choices) + ", but there are " +
                      std::to_string(op.getNumGroups()) + " groups");
    if (group >= 0)
      groups[group].push_back(i);
    else
      e.kern->write(op.getPositions(), i / choices, i % choices, -1);
  }
  return groups;
}

static Result<void> evaluateGroupTokens(GroupTokensOp op, Evaluation &e) {
  TRANSOM_ASSIGN(std::vector<std::vector<int64_t>> groups, getGroups(op, e));
  const int64_t choices = e.kern->columns(op.getGroups());
  int64_t position = 0;
  e.kern->write(op.getOffsets(), 0, 0, 0);
  for (auto [group, elements] : llvm::enumerate(groups)) {
    for (int64_t element : elements) {
      e.kern->write(op.getPositions(), element / choices, element % choices,
                    static_cast<double>(position));
      e.kern->write(op.getTokens(), 0, position++,
                    static_cast<double>(element / choices));
    }
    e.kern->write(op.getOffsets(), 0, static_cast<int64_t>(group) + 1,
                  static_cast<double>(position));
  }
  return e.kern->writeSize(op.getSize(), position, e);
}

static Result<void> evaluateGroupGemm(GroupGemmOp op, Evaluation &e) {
  const Tensor &weight = e.tensor(op.getWeight());
  ArrayRef<Number> bias;
  if (op.getBias())
    bias = e.tensor(op.getBias()).real;
  const int64_t n = op.getGroupColumns();
  for (int64_t group = 0; group < weight.sizes[0] / n; ++group) {
    auto begin = static_cast<int64_t>(e.kern->read(op.getOffsets(), 0, group));
    auto end =
        static_cast<int64_t>(e.kern->read(op.getOffsets(), 0, group + 1));
    if (begin >= end)
      continue;
    const ArrayRef<Number> init =
        bias.empty() ? bias : bias.slice(group * n, n);
    const std::vector<Number> products = multiplyRows(
        op, false, {begin, end}, {group * n, group * n + n}, init, e);
    for (int64_t row = begin; row < end; ++row) {
      // Earlier rows may have overwritten it.
      e.kern->checkRow(op.getInput(), row);
      for (int64_t i = 0; i < n; ++i)
        e.kern->write(op.getOuts(), row, i, products[(row - begin) * n + i]);
    }
  }
  return {};
}

/// Omits columns for distances that do not occur in the ragged batch.
static Result<void> evaluateHeadGemm(HeadGemmOp op, Evaluation &e) {
  const Tensor &weight = e.tensor(op.getWeight());
  const int64_t n = op.getHeadColumns(), k = weight.sizes[1];
  const int64_t rows = e.kern->rows(op.getInput());
  const auto heads = static_cast<int64_t>(op.getHeads());
  const auto [first, last] = op.getPositionBuckets().getRows(
      e.ragged(op.getRagged()).columns, panelWidth);
  const int64_t count = last - first;
  std::vector<Number> lines;
  for (int64_t row = 0; row < rows; ++row)
    llvm::append_range(lines, e.kern->readRow(op.getInput(), row));
  std::vector<Number> head(rows * k), products(heads * rows * count);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(&lines[(row * heads + h) * k], k, &head[row * k]);
    dotRows({}, head, &weight.real[(h * n + first) * k], rows, count,
            &products[h * rows * count]);
  }
  for (int64_t row = 0; row < rows; ++row) {
    // Earlier rows may have overwritten it.
    e.kern->checkRow(op.getInput(), row);
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = first; i < last; ++i)
        e.kern->write(op.getOuts(), h * rows + row, i,
                      products[(h * rows + row) * count + i - first]);
  }
  return {};
}

static Result<void> evaluateCombineGroups(CombineGroupsOp op, Evaluation &e) {
  RowRange range = e.kern->share(e.kern->rows(op.getOuts()));
  const int64_t choices = e.kern->columns(op.getPositions());
  for (int64_t row = range.begin; row < range.end; ++row)
    for (int64_t i = 0; i < e.kern->columns(op.getOuts()); ++i) {
      Number sum;
      for (int64_t c = 0; c < choices; ++c) {
        auto position =
            static_cast<int64_t>(e.kern->read(op.getPositions(), row, c));
        if (position >= 0)
          sum = fma(e.kern->read(op.getScales(), row, c),
                    e.kern->read(op.getInput(), position, i), sum);
      }
      e.kern->write(op.getOuts(), row, i, sum);
    }
  return {};
}

void attachKernGroups(MLIRContext *context) {
  attachEvaluator<GroupTokensOp, evaluateGroupTokens>(context);
  attachEvaluator<GroupGemmOp, evaluateGroupGemm>(context);
  attachEvaluator<HeadGemmOp, evaluateHeadGemm>(context);
  attachEvaluator<CombineGroupsOp, evaluateCombineGroups>(context);
}

} // namespace transom
