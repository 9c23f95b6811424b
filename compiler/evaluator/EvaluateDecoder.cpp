// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder operations other than attention: sequence rows in a step, the store
// for keys and values, operations that fill it, and rope.
#include "compiler/evaluator/Evaluation.h"
#include "dialects/attn/Attn.h"
#include <cmath>
#include <numeric>
#include <set>

using namespace mlir;

namespace transom {

using namespace attn;

//===----------------------------------------------------------------------===//
// Sequences and caches
//===----------------------------------------------------------------------===//

Result<void> CacheStore::put(StringRef cache, int64_t sequence,
                             int64_t position, ArrayRef<Number> key,
                             ArrayRef<Number> value) {
  Entry &entry = entries[{cache.str(), sequence}];
  auto length = static_cast<int64_t>(entry.keys.size());
  if (position < 0 || position > length)
    return rejected("sequence " + std::to_string(sequence) + " has " +
                    std::to_string(length) + " positions in cache '" +
                    cache.str() + "', the new one cannot have position " +
                    std::to_string(position));
  entry.keys.resize(position);
  entry.values.resize(position);
  entry.keys.push_back(key.vec());
  entry.values.push_back(value.vec());
  return {};
}

void CacheStore::setScales(StringRef cache, int64_t sequence,
                           ArrayRef<Number> keyScales,
                           ArrayRef<Number> valueScales) {
  Entry &entry = entries[{cache.str(), sequence}];
  const size_t length = entry.keys.size();
  assert(length && "a position was put");
  entry.keyScales.resize(length);
  entry.valueScales.resize(length);
  entry.keyScales.back() = keyScales.vec();
  entry.valueScales.back() = valueScales.vec();
}

const CacheStore::Entry &CacheStore::entry(StringRef cache, int64_t sequence) {
  return entries[{cache.str(), sequence}];
}

void CacheStore::copy(int64_t from, int64_t to) {
  for (auto &[key, entry] : entries)
    if (key.second == from)
      entries[{key.first, to}] = entry;
}

Result<RaggedBatch> getRaggedBatch(ArrayRef<SequenceRows> sequences) {
  RaggedBatch ragged;
  std::set<int64_t> seen;
  for (const SequenceRows &step : sequences) {
    if (step.past < 0 || step.rows < 0)
      return rejected("sequence " + std::to_string(step.sequence) + " has " +
                      std::to_string(step.past) + " positions and " +
                      std::to_string(step.rows) +
                      " new rows; neither may be negative");
    if (!seen.insert(step.sequence).second)
      return rejected("sequence " + std::to_string(step.sequence) +
                      " comes twice");
    for (int64_t i = 0; i < step.rows; ++i)
      ragged.rows.push_back({ragged.batch, step.past + i, true});
    ragged.columns = std::max(ragged.columns, step.past + step.rows);
    ++ragged.batch;
  }
  ragged.steps = sequences.vec();
  return ragged;
}

Result<RaggedBatch> Evaluation::stepBatch(StringRef rows) const {
  if (!options.sequences.empty())
    return getRaggedBatch(options.sequences);
  TRANSOM_ASSIGN(int64_t count, size(Polynomial::symbol(rows.str())));
  return getRaggedBatch({SequenceRows{0, 0, count}});
}

Result<std::vector<int64_t>>
Evaluation::getSequences(const RaggedBatch &ragged) const {
  ArrayRef<SequenceRows> sequences = ragged.steps;
  if (sequences.empty())
    sequences = options.sequences;
  std::vector<int64_t> numbers(ragged.batch);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (sequences.empty())
    return numbers;
  if (sequences.size() != numbers.size())
    return rejected("the batch has " + std::to_string(numbers.size()) +
                    " sequences, the options name " +
                    std::to_string(sequences.size()));
  for (auto [number, sequence] : llvm::zip_equal(numbers, sequences))
    number = sequence.sequence;
  return numbers;
}

std::vector<int64_t> getKeyRanks(const RaggedBatch &ragged) {
  std::vector<int64_t> ranks, counts(ragged.batch);
  for (const RaggedBatch::Row &row : ragged.rows) {
    ranks.push_back(counts[row.sequence]);
    counts[row.sequence] += row.isKey;
  }
  return ranks;
}

static Result<void> evaluateDecodeBatch(DecodeBatchOp op, Evaluation &e) {
  auto type = cast<RaggedType>(op.getResult().getType());
  TRANSOM_ASSIGN(RaggedBatch ragged, e.stepBatch(type.getRows().getValue()));
  if (auto bound = bindRagged(e, type.getRows(), type.getKeys(), ragged);
      !bound)
    return bound;
  e.set(op.getResult(), std::move(ragged));
  return {};
}

static Result<void> evaluateGetCache(GetCacheOp op, Evaluation &e) {
  e.setCache(op.getResult(), op.getCache());
  return {};
}

static Result<void> evaluateAppend(AppendOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  const Tensor &key = e.tensor(op.getKey()), &value = e.tensor(op.getValue());
  TRANSOM_ASSIGN(std::vector<int64_t> sequences, e.getSequences(ragged));
  std::vector<int64_t> ranks = getKeyRanks(ragged);
  int64_t keyWidth = key.sizes[1], valueWidth = value.sizes[1];
  for (auto [row, entry] : llvm::enumerate(ragged.rows))
    if (entry.isKey)
      TRANSOM_TRY(e.cacheStore().put(
          e.cache(op.getCache()), sequences[entry.sequence], ranks[row],
          ArrayRef(key.real).slice(row * keyWidth, keyWidth),
          ArrayRef(value.real).slice(row * valueWidth, valueWidth)));
  e.alias(op.getResult(), op.getState());
  return {};
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

static Result<void> evaluateRopeTable(RopeTableOp op, Evaluation &e) {
  const Tensor &positions = e.tensor(op.getPositions());
  ArrayRef<double> frequencies = op.getFrequencies();
  Number factor = constant(op.getFactor().convertToDouble());
  auto pairs = static_cast<int64_t>(frequencies.size());
  auto limit = static_cast<int64_t>(op.getLimit());
  Sizes sizes = positions.sizes;
  sizes.push_back(2 * pairs);
  Tensor result = Tensor::floats(sizes);
  for (auto [row, position] : llvm::enumerate(positions.whole)) {
    if (position < 0 || position >= limit)
      return rejected("position " + std::to_string(position) +
                      " is not below the limit " + std::to_string(limit));
    Number *out = &result.real[row * 2 * pairs];
    for (int64_t i = 0; i < pairs; ++i) {
      auto [cosine, sine] = getAngle(frequencies[i], position);
      out[i] = factor * cosine;
      out[pairs + i] = factor * sine;
    }
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

static Result<void> evaluateRope(RopeOp op, Evaluation &e) {
  Tensor result = e.tensor(op.getInput());
  const Tensor &table = e.tensor(op.getRopeTable());
  auto heads = static_cast<int64_t>(op.getHeads());
  int64_t width = result.sizes.back() / heads;
  int64_t pairs = table.sizes.back() / 2;
  int64_t rows = getNumElements(ArrayRef(result.sizes).drop_back());
  for (int64_t i = 0; i < rows * heads; ++i) {
    Number *head = result.real.data() + i * width;
    const Number *angles = table.real.data() + i / heads * 2 * pairs;
    for (int64_t n = 0; n < pairs; ++n) {
      Number &a = head[op.getInterleaved() ? 2 * n : n];
      Number &b = head[op.getInterleaved() ? 2 * n + 1 : n + pairs];
      Number cosine = angles[n], sine = angles[pairs + n], before = a;
      a = before * cosine - b * sine;
      b = b * cosine + before * sine;
    }
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

void attachDecoder(MLIRContext *context) {
  attachEvaluator<DecodeBatchOp, evaluateDecodeBatch>(context);
  attachEvaluator<GetCacheOp, evaluateGetCache>(context);
  attachEvaluator<AppendOp, evaluateAppend>(context);
  attachEvaluator<RopeTableOp, evaluateRopeTable>(context);
  attachEvaluator<RopeOp, evaluateRope>(context);
}

} // namespace transom
