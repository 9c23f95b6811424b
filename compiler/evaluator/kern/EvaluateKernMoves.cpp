// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement in kern: positions, ragged rows, pooling, transposition, blocks
// and gathers.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/kern/KernEvaluation.h"
#include <map>

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Ragged rows
//===----------------------------------------------------------------------===//

static Result<void> evaluatePositions(PositionsOp op, Evaluation &e) {
  int64_t columns = e.kern->columns(op.getIds()), pad = op.getPad();
  for (int64_t row = 0; row < e.kern->rows(op.getIds()); ++row) {
    int64_t rank = 0;
    for (int64_t column = 0; column < columns; ++column) {
      bool real = e.kern->read(op.getIds(), row, column).real() != pad;
      e.kern->write(op.getOuts(), row, column, real ? pad + ++rank : pad);
    }
  }
  return {};
}

static Result<void> evaluateColumns(ColumnsOp op, Evaluation &e) {
  int64_t width = e.kern->columns(op.getOuts());
  for (auto [i, row] : llvm::enumerate(e.ragged(op.getRagged()).rows))
    e.kern->write(op.getOuts(), i / width, i % width, row.column);
  return {};
}

/// The element count under one index in the leading dimensions.
static int64_t innerSize(Evaluation &e, Value buffer, size_t leading) {
  return getNumElements(ArrayRef(e.kern->sizes(buffer)).drop_front(leading));
}

/// Copies `count` elements between row-major indices.
static void copyElements(Evaluation &e, Value from, int64_t source, Value to,
                         int64_t target, int64_t count) {
  int64_t width = e.kern->columns(to);
  for (int64_t i = 0; i < count; ++i)
    e.kern->write(to, (target + i) / width, (target + i) % width,
                  e.kern->readFlat(from, source + i));
}

static Result<void> evaluateGatherRows(kern::GatherRowsOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  int64_t inner = innerSize(e, op.getInput(), 2);
  for (auto [i, row] : llvm::enumerate(ragged.rows))
    copyElements(e, op.getInput(),
                 (row.sequence * ragged.columns + row.column) * inner,
                 op.getOuts(), static_cast<int64_t>(i) * inner, inner);
  return {};
}

static Result<void> evaluateScatterRows(kern::ScatterRowsOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  int64_t inner = innerSize(e, op.getInput(), 1);
  int64_t width = e.kern->columns(op.getOuts());
  std::vector<bool> written(ragged.batch * ragged.columns);
  for (auto [i, row] : llvm::enumerate(ragged.rows)) {
    if (!row.isKey)
      continue;
    int64_t place = row.sequence * ragged.columns + row.column;
    written[place] = true;
    copyElements(e, op.getInput(), static_cast<int64_t>(i) * inner,
                 op.getOuts(), place * inner, inner);
  }
  for (size_t place = 0; place < written.size(); ++place)
    for (int64_t i = 0; i < inner && !written[place]; ++i) {
      int64_t number = static_cast<int64_t>(place) * inner + i;
      e.kern->write(op.getOuts(), number / width, number % width, 0.0);
    }
  return {};
}

namespace {
/// The rows in one sequence that are pooled, and their token columns.
struct PooledRows {
  std::vector<int64_t> rows, columns;
};
} // namespace

static std::vector<PooledRows> getPooledRows(kern::PoolOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  std::vector<PooledRows> all(ragged.batch);
  for (auto [i, row] : llvm::enumerate(ragged.rows)) {
    bool first = op.getKind() == kern::PoolKind::First;
    bool counts = first ? row.column == 0 : row.isKey;
    if (counts && !first && op.getMask())
      counts = e.kern->readFlat(op.getMask(), i).real() != 0;
    if (!counts)
      continue;
    PooledRows &own = all[row.sequence];
    if (op.getKind() == kern::PoolKind::Last)
      own = {};
    if (op.getKind() == kern::PoolKind::FirstKey && !own.rows.empty())
      continue;
    own.rows.push_back(static_cast<int64_t>(i));
    own.columns.push_back(row.column);
  }
  return all;
}

static Result<void> evaluatePool(kern::PoolOp op, Evaluation &e) {
  int64_t width = e.kern->columns(op.getInput());
  for (auto [sequence, pooled] : llvm::enumerate(getPooledRows(op, e)))
    for (int64_t i = 0; i < width; ++i) {
      std::vector<Number> numbers;
      for (int64_t row : pooled.rows)
        numbers.push_back(e.kern->read(op.getInput(), row, i));
      e.kern->write(op.getOuts(), sequence, i,
                    poolNumbers(op.getKind(), numbers, pooled.columns));
    }
  return {};
}

static Result<void> evaluateNeighbors(kern::NeighborsOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  const int64_t width = e.kern->columns(op.getInput()), reach = op.getReach();
  std::map<std::pair<int64_t, int64_t>, int64_t> keys;
  for (auto [i, row] : llvm::enumerate(ragged.rows))
    if (row.isKey &&
        (!op.getMask() || e.kern->readFlat(op.getMask(), i).real() != 0))
      keys[{row.sequence, row.column}] = static_cast<int64_t>(i);
  for (auto [i, row] : llvm::enumerate(ragged.rows))
    for (int64_t slot = 0; slot <= 2 * reach; ++slot) {
      auto found = keys.find({row.sequence, row.column + slot - reach});
      for (int64_t c = 0; c < width; ++c)
        e.kern->write(op.getOuts(), i, slot * width + c,
                      found == keys.end()
                          ? Number(0.0)
                          : e.kern->read(op.getInput(), found->second, c));
    }
  return {};
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static Result<void> evaluateTranspose(kern::TransposeOp op, Evaluation &e) {
  Sizes source(op.getPermutation().size());
  forEachIndex(e.kern->sizes(op.getOuts()), [&](ArrayRef<int64_t> index) {
    for (size_t d = 0; d < index.size(); ++d)
      source[op.getPermutation()[d]] = index[d];
    e.kern->write(op.getOuts(), index, e.kern->read(op.getInput(), source));
  });
  return {};
}

static Result<int64_t> getSize(StringRef text, Evaluation &e) {
  TRANSOM_ASSIGN(Polynomial polynomial, Polynomial::parse(text.str()));
  return e.size(polynomial);
}

static Result<void> evaluateCopy(CopyOp op, Evaluation &e) {
  Result<int64_t> from = getSize(op.getFrom(), e), to = getSize(op.getTo(), e);
  Result<int64_t> size = getSize(op.getSize(), e);
  if (!from || !to || !size)
    return rejected("sizes of a block are unknown");
  Sizes sizes = e.kern->sizes(op.getOuts());
  sizes[op.getAxis()] = *size;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    Sizes source(index), target(index);
    source[op.getAxis()] += *from;
    target[op.getAxis()] += *to;
    e.kern->write(op.getOuts(), target, e.kern->read(op.getInput(), source));
  });
  return {};
}

static Result<void> evaluateGather(kern::GatherOp op, Evaluation &e) {
  int64_t inner = innerSize(e, op.getTable(), 1);
  int64_t count = innerSize(e, op.getIndices(), 0);
  for (int64_t i = 0; i < count; ++i) {
    auto row = static_cast<int64_t>(e.kern->readFlat(op.getIndices(), i));
    if (row < 0 || row >= e.kern->sizes(op.getTable())[0])
      return rejected("index " + std::to_string(row) + " is outside a table");
    copyElements(e, op.getTable(), row * inner, op.getOuts(), i * inner, inner);
  }
  return {};
}

void attachKernMoves(MLIRContext *context) {
  attachEvaluator<kern::NeighborsOp, evaluateNeighbors>(context);
  attachEvaluator<PositionsOp, evaluatePositions>(context);
  attachEvaluator<ColumnsOp, evaluateColumns>(context);
  attachEvaluator<kern::GatherRowsOp, evaluateGatherRows>(context);
  attachEvaluator<kern::ScatterRowsOp, evaluateScatterRows>(context);
  attachEvaluator<kern::PoolOp, evaluatePool>(context);
  attachEvaluator<kern::TransposeOp, evaluateTranspose>(context);
  attachEvaluator<CopyOp, evaluateCopy>(context);
  attachEvaluator<kern::GatherOp, evaluateGather>(context);
}

} // namespace transom
