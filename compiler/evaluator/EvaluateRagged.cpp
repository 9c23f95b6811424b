// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ragged rows, positions, pooling and layer tables.
#include "compiler/evaluator/Evaluation.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/abi/Layout.h"

using namespace mlir;

namespace transom {

using namespace attn;

//===----------------------------------------------------------------------===//
// Ragged batches
//===----------------------------------------------------------------------===//

/// The rows in one sequence: its keys in column order, then a masked column 0
/// if it must be present.
static void addSequence(const Tensor &mask, int64_t sequence, bool keepFirst,
                        RaggedBatch &ragged) {
  const int64_t *row = &mask.whole[sequence * ragged.columns];
  for (int64_t column = 0; column < ragged.columns; ++column)
    if (row[column] != 0)
      ragged.rows.push_back({sequence, column, true});
  if (keepFirst && ragged.columns > 0 && row[0] == 0)
    ragged.rows.push_back({sequence, 0, false});
}

RaggedBatch getRaggedBatch(const Tensor &mask, bool keepFirst) {
  RaggedBatch ragged;
  ragged.batch = mask.sizes[0];
  ragged.columns = mask.sizes[1];
  for (int64_t sequence = 0; sequence < ragged.batch; ++sequence)
    addSequence(mask, sequence, keepFirst, ragged);
  return ragged;
}

Result<void> bindRagged(Evaluation &e, StringRef rows, StringRef keys,
                        const RaggedBatch &ragged) {
  std::vector<int64_t> lengths(ragged.batch);
  for (auto [length, step] : llvm::zip(lengths, ragged.steps))
    length = step.past;
  for (const RaggedBatch::Row &row : ragged.rows)
    ++lengths[row.sequence];
  int64_t positions = 0;
  for (int64_t length : lengths)
    positions += alignToPanel(length);
  if (auto bound = e.bind(rows.str(), static_cast<int64_t>(ragged.rows.size()));
      !bound)
    return bound;
  return e.bind(keys.str(), positions);
}

static Result<void> evaluateRaggedBatch(RaggedBatchOp op, Evaluation &e) {
  RaggedBatch ragged =
      getRaggedBatch(e.tensor(op.getMask()), op.getKeepFirst());
  auto type = cast<RaggedType>(op.getResult().getType());
  if (auto bound = bindRagged(e, type.getRows(), type.getKeys(), ragged);
      !bound)
    return bound;
  e.set(op.getResult(), std::move(ragged));
  return {};
}

static Result<void> evaluateGatherRows(GatherRowsOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  Sizes sizes = {static_cast<int64_t>(ragged.rows.size())};
  sizes.append(input.sizes.begin() + 2, input.sizes.end());
  int64_t width = getNumElements(ArrayRef(sizes).drop_front());
  std::vector<int64_t> sources;
  for (const RaggedBatch::Row &row : ragged.rows)
    for (int64_t i = 0; i < width; ++i)
      sources.push_back((row.sequence * input.sizes[1] + row.column) * width +
                        i);
  e.set(op.getResult(), input.pick(sizes, sources));
  return {};
}

static Result<void> evaluateScatterRows(ScatterRowsOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  Sizes sizes = {ragged.batch, ragged.columns};
  sizes.append(input.sizes.begin() + 1, input.sizes.end());
  int64_t width = getNumElements(ArrayRef(sizes).drop_front(2));
  Tensor result =
      input.isFloat ? Tensor::floats(sizes) : Tensor::integers(sizes);
  for (auto [index, row] : llvm::enumerate(ragged.rows)) {
    if (!row.isKey)
      continue;
    for (int64_t i = 0; i < width; ++i) {
      int64_t to = (row.sequence * ragged.columns + row.column) * width + i;
      int64_t from = static_cast<int64_t>(index) * width + i;
      if (input.isFloat)
        result.real[to] = input.real[from];
      else
        result.whole[to] = input.whole[from];
    }
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

//===----------------------------------------------------------------------===//
// Positions and pooling
//===----------------------------------------------------------------------===//

/// `pad` plus the rank among ids other than `pad`.
static void rankPositions(Tensor &ids, int64_t pad) {
  int64_t columns = ids.sizes[1];
  for (int64_t sequence = 0; sequence < ids.sizes[0]; ++sequence) {
    int64_t rank = 0;
    for (int64_t column = 0; column < columns; ++column) {
      int64_t &id = ids.whole[sequence * columns + column];
      id = id == pad ? pad : pad + ++rank;
    }
  }
}

static Result<void> evaluatePosition(PositionOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getIds());
  if (op.getKind() == PositionKind::NonpadRank) {
    rankPositions(result, op.getPad());
  } else if (op.getRagged()) {
    for (auto [row, position] :
         llvm::zip_equal(e.ragged(op.getRagged()).rows, result.whole))
      position = row.column;
  } else {
    for (int64_t i = 0; i < result.count(); ++i)
      result.whole[i] = i % result.sizes[1];
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

/// The rows in each sequence, with the operand viewed as [rows, d].
template <typename Op>
static std::vector<std::vector<RaggedBatch::Row>> rowsToPool(Op op,
                                                             Evaluation &e) {
  auto isShown = [&](int64_t row) {
    return !op.getMask() || e.tensor(op.getMask()).whole[row] != 0;
  };
  if (op.getRagged()) {
    const RaggedBatch &ragged = e.ragged(op.getRagged());
    std::vector<std::vector<RaggedBatch::Row>> all(ragged.batch);
    for (auto [i, row] : llvm::enumerate(ragged.rows)) {
      const auto index = static_cast<int64_t>(i);
      all[row.sequence].push_back(
          {index, row.column, row.isKey && isShown(index)});
    }
    return all;
  }
  const Tensor &input = e.tensor(op.getInput());
  std::vector<std::vector<RaggedBatch::Row>> all(input.sizes[0]);
  for (int64_t i = 0; i < input.sizes[0] * input.sizes[1]; ++i)
    all[i / input.sizes[1]].push_back({i, i % input.sizes[1], isShown(i)});
  return all;
}

/// The rows in one sequence that this kind pools.
static std::vector<RaggedBatch::Row>
chosenRows(PoolKind kind, ArrayRef<RaggedBatch::Row> rows) {
  std::vector<RaggedBatch::Row> chosen;
  for (const RaggedBatch::Row &row : rows) {
    if (kind == PoolKind::First ? row.column != 0 : !row.isKey)
      continue;
    if (kind == PoolKind::Last)
      chosen.clear();
    if (kind == PoolKind::FirstKey && !chosen.empty())
      break;
    chosen.push_back(row);
  }
  return chosen;
}

static Result<void> evaluatePool(PoolOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  std::vector<std::vector<RaggedBatch::Row>> all = rowsToPool(op, e);
  int64_t width = input.sizes.back();
  Tensor result = Tensor::floats({static_cast<int64_t>(all.size()), width});
  for (auto [sequence, rows] : llvm::enumerate(all)) {
    std::vector<RaggedBatch::Row> chosen = chosenRows(op.getKind(), rows);
    if (chosen.empty() && op.getKind() == PoolKind::First)
      return rejected("sequence " + std::to_string(sequence) +
                      " has no row for column 0");
    std::vector<int64_t> columns;
    for (const RaggedBatch::Row &row : chosen)
      columns.push_back(row.column);
    for (int64_t i = 0; i < width; ++i) {
      std::vector<Number> numbers;
      for (const RaggedBatch::Row &row : chosen)
        numbers.push_back(input.real[row.sequence * width + i]);
      result.real[sequence * width + i] =
          poolNumbers(op.getKind(), numbers, columns);
    }
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateNeighbors(NeighborsOp op, Evaluation &e) {
  const Tensor &input = e.tensor(op.getInput());
  const int64_t width = input.sizes.back();
  const auto reach = static_cast<int64_t>(op.getReach());
  const int64_t all = (2 * reach + 1) * width;
  Sizes sizes = input.sizes;
  sizes.back() = all;
  Tensor result = Tensor::floats(sizes);
  for (const auto &rows : rowsToPool(op, e))
    for (const RaggedBatch::Row &own : rows)
      for (const RaggedBatch::Row &other : rows) {
        const int64_t slot = other.column - own.column + reach;
        if (!other.isKey || slot < 0 || slot > 2 * reach)
          continue;
        std::copy_n(&input.real[other.sequence * width], width,
                    &result.real[own.sequence * all + slot * width]);
      }
  e.set(op.getResult(), std::move(result));
  return {};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Runs the body for one layer; returns the value that contains the new state.
static Result<Value> runLayer(LayersOp op, LayerAttr layer, Value state,
                              Evaluation &e) {
  auto body = e.symbolTable().lookup<func::FuncOp>(layer.getBody().getValue());
  if (!body || body.isExternal())
    return rejected("no body '" + layer.getBody().getValue().str() + "'");
  Block &block = body.getBody().front();
  e.alias(block.getArgument(0), state);
  unsigned next = 1;
  for (Value invariant : op.getInvariants())
    e.alias(block.getArgument(next++), invariant);
  for (FlatSymbolRefAttr symbol : layer.getParameters()) {
    if (isa<CacheType>(block.getArgument(next).getType())) {
      e.setCache(block.getArgument(next++), symbol.getValue());
      continue;
    }
    TRANSOM_ASSIGN(std::shared_ptr<const Tensor> weight,
                   e.weight(symbol.getValue()));
    e.set(block.getArgument(next++), std::move(weight));
  }
  TRANSOM_TRY(e.run(block));
  return block.getTerminator()->getOperand(0);
}

static Result<void> evaluateLayers(LayersOp op, Evaluation &e) {
  e.alias(op.getResult(), op.getState());
  for (LayerAttr layer : op.getLayerRange()) {
    TRANSOM_ASSIGN(Value state, runLayer(op, layer, op.getResult(), e));
    e.alias(op.getResult(), state);
  }
  return {};
}

void attachRagged(MLIRContext *context) {
  attachEvaluator<RaggedBatchOp, evaluateRaggedBatch>(context);
  attachEvaluator<GatherRowsOp, evaluateGatherRows>(context);
  attachEvaluator<ScatterRowsOp, evaluateScatterRows>(context);
  attachEvaluator<PositionOp, evaluatePosition>(context);
  attachEvaluator<PoolOp, evaluatePool>(context);
  attachEvaluator<NeighborsOp, evaluateNeighbors>(context);
  attachEvaluator<LayersOp, evaluateLayers>(context);
}

} // namespace transom
