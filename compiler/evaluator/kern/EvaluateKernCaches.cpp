// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decode steps in kern, except attention: sequence rows, appends to caches,
// rope by the tables that generated code reads.
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/evaluator/kern/KernEvaluation.h"
#include <cmath>

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Sequences and caches
//===----------------------------------------------------------------------===//

static Result<void> evaluateDecodeBatch(DecodeBatchOp op, Evaluation &e) {
  TRANSOM_ASSIGN(RaggedBatch ragged, e.stepBatch(op.getRows()));
  if (auto bound = bindRagged(e, op.getRows(), op.getKeys(), ragged); !bound)
    return bound;
  e.kern->step = ragged;
  e.set(op.getResult(), std::move(ragged));
  return {};
}

/// The keys for each sequence in the step are its cache contents.
static Result<void> evaluateCacheBatch(CacheBatchOp op, Evaluation &e) {
  if (!e.kern->step)
    return rejected("is outside of a function of sequences");
  RaggedBatch ragged;
  ragged.batch = e.kern->step->batch;
  ragged.rows = e.kern->step->rows;
  int64_t longest = 0;
  for (const SequenceRows &own : e.kern->step->steps) {
    auto length = static_cast<int64_t>(
        e.cacheStore().entry(op.getCache(), own.sequence).keys.size());
    ragged.steps.push_back({own.sequence, length, 0});
    longest = std::max(longest, length);
  }
  TRANSOM_TRY(e.bind(op.getKeys().str(), alignToPanel(longest)));
  e.set(op.getResult(), std::move(ragged));
  return {};
}

static Result<void> evaluateGetCache(kern::GetCacheOp op, Evaluation &e) {
  e.setCache(op.getResult(), op.getCache());
  return {};
}

Result<void> KernEvaluation::flushCaches(Evaluation &e) {
  // Workers run in any order, but positions must ascend.
  std::vector<Appended> rows = std::move(e.kern->appended);
  e.kern->appended.clear();
  std::sort(rows.begin(), rows.end(), [](const Appended &a, const Appended &b) {
    return std::tie(a.cache, a.sequence, a.position) <
           std::tie(b.cache, b.sequence, b.position);
  });
  for (const Appended &row : rows) {
    CacheStore &store = e.cacheStore();
    TRANSOM_TRY(store.put(row.cache, row.sequence, row.position,
                          row.key.elements, row.value.elements));
    if (!row.key.scales.empty())
      store.setScales(row.cache, row.sequence, row.key.scales,
                      row.value.scales);
  }
  return {};
}

/// Rounds a head to the integers in a type, each times the head's scale.
static void quantize(MutableArrayRef<Number> head, StorageType type) {
  if (Domain::getCurrent()) {
    for (Number &number : head)
      number = roundToStorage(type, number);
    return;
  }
  double most = 0;
  for (Number number : head)
    most = std::max(most, std::fabs(number.real()));
  double scale =
      static_cast<float>(most) / static_cast<float>(getMaxMagnitude(type));
  for (Number &number : head)
    number = scale == 0 ? 0 : std::nearbyint(number.real() / scale) * scale;
}

/// A row as stored in a cache.
static KernEvaluation::CachedRow cachedRow(Evaluation &e, Value buffer,
                                           int64_t row, CacheType type) {
  KernEvaluation::CachedRow cached = {e.kern->readRow(buffer, row), {}};
  std::vector<Number> &line = cached.elements;
  OperandFormat format = type.getFormat();
  if (!format.hasScales()) {
    for (Number &number : line)
      number = roundToStorage(format.element, number);
    return cached;
  }
  // Each head has a scale; in the bits domain it is stored separately.
  const size_t width = line.size() / type.getHeads();
  for (size_t at = 0; at < line.size(); at += width) {
    MutableArrayRef<Number> head = MutableArrayRef(line).slice(at, width);
    if (const Bits *bits = Bits::getCurrent())
      cached.scales.push_back(bits->quantize(head, format.element));
    else
      quantize(head, format.element);
  }
  return cached;
}

static Result<void> evaluateAppend(AppendOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  CacheType type = op.getCache().getType();
  TRANSOM_ASSIGN(std::vector<int64_t> sequences, e.getSequences(ragged));
  std::vector<int64_t> ranks = getKeyRanks(ragged);
  RowRange range = e.kern->share(e.kern->rows(op.getKey()));
  for (int64_t row = range.begin; row < range.end; ++row) {
    const RaggedBatch::Row &place = ragged.rows[row];
    e.kern->appended.push_back({e.cache(op.getCache()).str(),
                                sequences[place.sequence],
                                type.isReadOnly() ? ranks[row] : place.column,
                                cachedRow(e, op.getKey(), row, type),
                                cachedRow(e, op.getValue(), row, type)});
  }
  // Inside a phase, the end of the phase flushes the caches.
  return isa<PhaseOp>(op->getParentOp()) ? Result<void>()
                                         : KernEvaluation::flushCaches(e);
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

static Result<void> evaluateRopeTable(RopeTableOp op, Evaluation &e) {
  const Tensor &angles = e.tensor(op.getAngles());
  int64_t width = angles.sizes[1], pairs = width / 2,
          coarse = angles.sizes[0] - kvBlockSize;
  RowRange range = e.kern->share(e.kern->rows(op.getOuts()));
  for (int64_t row = range.begin; row < range.end; ++row) {
    auto position =
        static_cast<int64_t>(e.kern->readFlat(op.getPositions(), row));
    if (position < 0 || position >= coarse * kvBlockSize)
      return rejected("position " + std::to_string(position) +
                      " is not below the limit " +
                      std::to_string(coarse * kvBlockSize));
    const Number *a = &angles.real[position / kvBlockSize * width],
                 *b = &angles.real[(coarse + position % kvBlockSize) * width];
    for (int64_t i = 0; i < pairs; ++i) {
      Number ca = a[i], sa = a[pairs + i], cb = b[i], sb = b[pairs + i];
      e.kern->write(op.getOuts(), row, i, fma(ca, cb, negate(sa * sb)));
      e.kern->write(op.getOuts(), row, pairs + i, fma(sa, cb, ca * sb));
    }
  }
  return {};
}

static Result<void> evaluateRope(RopeOp op, Evaluation &e) {
  int64_t heads = op.getHeads(), width = e.kern->columns(op.getInput()) / heads,
          pairs = e.kern->columns(op.getRopeTable()) / 2;
  RowRange range = e.kern->share(e.kern->rows(op.getOuts()));
  for (int64_t row = range.begin; row < range.end; ++row) {
    std::vector<Number> line = e.kern->readRow(op.getInput(), row),
                        angles = e.kern->readRow(op.getRopeTable(), row);
    for (int64_t pair = 0; pair < heads * pairs; ++pair) {
      int64_t i = pair % pairs;
      Number *head = &line[pair / pairs * width];
      Number &x = head[op.getInterleaved() ? 2 * i : i],
             &y = head[op.getInterleaved() ? 2 * i + 1 : i + pairs];
      Number c = angles[i], s = angles[pairs + i], before = x;
      x = fma(before, c, negate(y * s));
      y = fma(y, c, before * s);
    }
    for (size_t i = 0; i < line.size(); ++i)
      e.kern->write(op.getOuts(), row, i, line[i]);
  }
  return {};
}

void attachKernCaches(MLIRContext *context) {
  attachEvaluator<DecodeBatchOp, evaluateDecodeBatch>(context);
  attachEvaluator<CacheBatchOp, evaluateCacheBatch>(context);
  attachEvaluator<kern::GetCacheOp, evaluateGetCache>(context);
  attachEvaluator<AppendOp, evaluateAppend>(context);
  attachEvaluator<RopeTableOp, evaluateRopeTable>(context);
  attachEvaluator<RopeOp, evaluateRope>(context);
}

} // namespace transom
