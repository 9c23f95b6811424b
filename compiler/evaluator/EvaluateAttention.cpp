// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn.sdpa` by its definition: for each query row and head, scores for all
// keys, masks, softmax, and the weighted sum over values. With a cache, keys
// and values are read from the store. `attn.cross_sdpa` is the same over all
// keys in the store.
#include "compiler/evaluator/Evaluation.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "dialects/attn/Attn.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace transom {

using namespace attn;

namespace {

/// A query or key row, and its index in its sequence.
struct Token {
  int64_t row = 0;      ///< in the tensor viewed as [rows, width]
  int64_t position = 0; ///< for causal and window
  int64_t index = 0;    ///< column in the mask operand
};

/// Queries and keys in one sequence.
struct Sequence {
  int64_t number = 0;
  std::vector<Token> queries, keys;
};

/// One `attn.sdpa` with its operands.
class Attention {
public:
  Attention(SdpaOp op, Evaluation &e);
  /// Appends new keys and values to the cache and reads all of them from there.
  Result<void> useCache(const RaggedBatch &ragged, Evaluation &e);
  Tensor run();

private:
  std::vector<Sequence> raggedSequences(const RaggedBatch &ragged) const;
  std::vector<Sequence> batchSequences() const;
  bool inReach(const Token &query, const Token &key) const;
  Number score(const Sequence &sequence, int64_t head, const Token &query,
               const Token &key) const;
  Number positionScore(int64_t head, const Token &query,
                       const Token &key) const;
  void attend(const Sequence &sequence, int64_t head, const Token &query,
              Tensor &result) const;

  mutable SdpaOp op; // its getters are not const
  const Tensor &query;
  Tensor key, value, slopes, relativeBias; ///< biases: if present
  std::optional<PositionBuckets> buckets;
  Tensor positionKeys, positionQueries; ///< if present
  std::vector<Sequence> sequences;
  Tensor mask; ///< broadcast to [batch, heads, queries, keys], if present
  int64_t heads, group, dk, dv;
};

} // namespace

Attention::Attention(SdpaOp op, Evaluation &e)
    : op(op), query(e.tensor(op.getQuery())), key(e.tensor(op.getKey())),
      value(e.tensor(op.getValue())), heads(op.getHeads()),
      group(op.getHeads() / op.getKvHeads()), dk(query.sizes.back() / heads),
      dv(value.sizes.back() / op.getKvHeads()) {
  if (op.getSlopes())
    slopes = e.tensor(op.getSlopes());
  if (op.getRelativeBias())
    relativeBias = e.tensor(op.getRelativeBias());
  buckets = op.getPositionBuckets();
  if (op.getPositionKeys())
    positionKeys = e.tensor(op.getPositionKeys());
  if (op.getPositionQueries())
    positionQueries = e.tensor(op.getPositionQueries());
  if (op.getRagged()) {
    sequences = raggedSequences(e.ragged(op.getRagged()));
    return;
  }
  sequences = batchSequences();
  if (!op.getMask())
    return;
  mask = e.tensor(op.getMask());
  if (op.getMaskKind() == MaskKind::Keys)
    mask.sizes = {mask.sizes[0], 1, 1, mask.sizes[1]};
  mask =
      mask.broadcastTo({query.sizes[0], heads, query.sizes[1], key.sizes[1]});
}

std::vector<Sequence>
Attention::raggedSequences(const RaggedBatch &ragged) const {
  const bool raggedQueries = query.sizes.size() == 2;
  std::vector<Sequence> all(ragged.batch);
  for (auto [row, entry] : llvm::enumerate(ragged.rows)) {
    Sequence &sequence = all[entry.sequence];
    Token token = {static_cast<int64_t>(row), entry.column, entry.column};
    sequence.number = entry.sequence;
    if (raggedQueries)
      sequence.queries.push_back(token);
    if (entry.isKey)
      sequence.keys.push_back(token);
  }
  for (int64_t row = 0; !raggedQueries && row < query.sizes[0] * query.sizes[1];
       ++row)
    all[row / query.sizes[1]].queries.push_back({row, 0, 0});
  return all;
}

Result<void> Attention::useCache(const RaggedBatch &ragged, Evaluation &e) {
  StringRef cache = e.cache(op.getCache());
  // Append the new rows.
  if (ragged.steps.empty() && ragged.batch > 0)
    return rejected("a cache goes with the rows of 'attn.decode_batch' only");
  for (auto [row, entry] : llvm::enumerate(ragged.rows)) {
    int64_t keyWidth = key.sizes[1], valueWidth = value.sizes[1];
    if (auto put = e.cacheStore().put(
            cache, ragged.steps[entry.sequence].sequence, entry.column,
            ArrayRef(key.real).slice(row * keyWidth, keyWidth),
            ArrayRef(value.real).slice(row * valueWidth, valueWidth));
        !put)
      return put;
  }
  // Replace keys and values by the cache contents.
  key.real.clear();
  value.real.clear();
  int64_t next = 0;
  for (auto [sequence, step] : llvm::zip_equal(sequences, ragged.steps)) {
    const CacheStore::Entry &kept = e.cacheStore().entry(cache, step.sequence);
    sequence.keys.clear();
    for (size_t j = 0; j < kept.keys.size(); ++j) {
      sequence.keys.push_back({next++, static_cast<int64_t>(j), 0});
      key.real.insert(key.real.end(), kept.keys[j].begin(), kept.keys[j].end());
      value.real.insert(value.real.end(), kept.values[j].begin(),
                        kept.values[j].end());
    }
  }
  return {};
}

/// Rows in a rectangular batch; fewer queries than keys are aligned with the
/// last keys.
std::vector<Sequence> Attention::batchSequences() const {
  int64_t queries = query.sizes[1], keys = key.sizes[1];
  std::vector<Sequence> all(query.sizes[0]);
  for (auto [number, sequence] : llvm::enumerate(all)) {
    sequence.number = number;
    for (int64_t i = 0; i < queries; ++i)
      sequence.queries.push_back(
          {static_cast<int64_t>(number) * queries + i, i + keys - queries, i});
    for (int64_t j = 0; j < keys; ++j)
      sequence.keys.push_back({static_cast<int64_t>(number) * keys + j, j, j});
  }
  return all;
}

bool Attention::inReach(const Token &query, const Token &key) const {
  int64_t window = op.getWindow();
  if (op.getCausal() && key.position > query.position)
    return false;
  if (window <= 0)
    return true;
  return key.position > query.position - window &&
         (op.getCausal() || key.position < query.position + window);
}

/// Unscaled scores between content and relative position.
Number Attention::positionScore(int64_t head, const Token &q,
                                const Token &k) const {
  const int64_t row =
      head * buckets->positions + buckets->getRow(q.position - k.position);
  Number sum = 0.0;
  if (op.getPositionKeys())
    sum += dot(0.0, &query.real[(q.row * heads + head) * dk], 1,
               &positionKeys.real[row * dk], 1, dk);
  if (op.getPositionQueries())
    sum += dot(0.0, &key.real[(k.row * heads + head) * dk], 1,
               &positionQueries.real[row * dk], 1, dk);
  return sum;
}

Number Attention::score(const Sequence &sequence, int64_t head, const Token &q,
                        const Token &k) const {
  if (!inReach(q, k))
    return getHidden();
  // The scaled dot product, with its soft cap.
  const Number *left = &query.real[(q.row * heads + head) * dk];
  const Number *right =
      &key.real[(k.row * (heads / group) + head / group) * dk];
  Number score = dot(0.0, left, 1, right, 1, dk);
  score *= constant(op.getScale().convertToDouble());
  if (double cap = op.getSoftCap().convertToDouble(); cap > 0)
    score = constant(cap) * tanh(score / constant(cap));
  // Biases by distance.
  if (op.getSlopes())
    score += slopeBias(slopes, head, k.position - q.position);
  if (op.getRelativeBias()) {
    int64_t reach = relativeBias.sizes[1] / 2;
    int64_t distance = std::clamp(k.position - q.position, -reach, reach);
    score += relativeBias.real[head * relativeBias.sizes[1] + reach + distance];
  }
  if (buckets)
    score +=
        constant(op.getScale().convertToDouble()) * positionScore(head, q, k);
  // The mask adds to the score, or hides the key.
  if (!op.getMask())
    return score;
  int64_t at = flatten(mask.sizes, {sequence.number, head, q.index, k.index});
  if (op.getMaskKind() == MaskKind::Additive)
    return score + mask.real[at];
  if (mask.whole[at])
    return score;
  return op.getMaskValue() ? constant(op.getMaskValue()->convertToDouble())
                           : getHidden();
}

/// Softmax over the keys for one row and head; zeros if no key is visible.
void Attention::attend(const Sequence &sequence, int64_t head, const Token &q,
                       Tensor &result) const {
  std::vector<Number> weights, values(sequence.keys.size());
  for (const Token &k : sequence.keys)
    weights.push_back(score(sequence, head, q, k));
  softmax(weights);
  for (int64_t i = 0; i < dv; ++i) {
    for (auto [x, k] : llvm::zip_equal(values, sequence.keys))
      x = value.real[(k.row * (heads / group) + head / group) * dv + i];
    result.real[(q.row * heads + head) * dv + i] =
        dot(0.0, weights, values.data());
  }
}

Tensor Attention::run() {
  Sizes sizes = query.sizes;
  sizes.back() = heads * dv;
  Tensor result = Tensor::floats(sizes);
  for (const Sequence &sequence : sequences)
    for (const Token &query : sequence.queries)
      for (int64_t head = 0; head < heads; ++head)
        attend(sequence, head, query, result);
  return result;
}

static Result<void> evaluateSdpa(SdpaOp op, Evaluation &e) {
  Attention attention(op, e);
  if (op.getCache())
    if (auto used = attention.useCache(e.ragged(op.getRagged()), e); !used)
      return used;
  e.set(op.getResult(), attention.run());
  return {};
}

//===----------------------------------------------------------------------===//
// Cross attention
//===----------------------------------------------------------------------===//

/// Query heads in one row, and the keys and values in its sequence.
struct CrossRow {
  ArrayRef<Number> query;          ///< [heads, dk]
  const CacheStore::Entry &source; ///< by position [kv_heads, dk], [.., dv]
};

/// Adds attention for query head `head` to `out` [dv].
static void attendToSource(CrossSdpaOp op, const CrossRow &row, int64_t head,
                           MutableArrayRef<Number> out) {
  CacheType cache = op.getCache().getType();
  int64_t dk = cache.getKey(), dv = cache.getValue();
  int64_t from =
      head / (static_cast<int64_t>(op.getHeads()) / cache.getHeads());
  double cap = op.getSoftCap().convertToDouble();
  std::vector<Number> weights, values(row.source.values.size());
  for (const std::vector<Number> &key : row.source.keys) {
    Number score = dot(0.0, &row.query[head * dk], 1, &key[from * dk], 1, dk);
    score *= constant(op.getScale().convertToDouble());
    weights.push_back(cap > 0 ? constant(cap) * tanh(score / constant(cap))
                              : score);
  }
  softmax(weights);
  for (int64_t i = 0; i < dv; ++i) {
    for (auto [x, value] : llvm::zip_equal(values, row.source.values))
      x = value[from * dv + i];
    out[i] = dot(0.0, weights, values.data());
  }
}

static Result<void> evaluateCrossSdpa(CrossSdpaOp op, Evaluation &e) {
  const RaggedBatch &ragged = e.ragged(op.getRagged());
  const Tensor &query = e.tensor(op.getQuery());
  if (ragged.steps.empty() && ragged.batch > 0)
    return rejected("its rows are not those of 'attn.decode_batch'");
  auto heads = static_cast<int64_t>(op.getHeads());
  int64_t dv = op.getCache().getType().getValue(), width = query.sizes[1];
  Tensor result = Tensor::floats({query.sizes[0], heads * dv});
  for (auto [row, entry] : llvm::enumerate(ragged.rows)) {
    CrossRow cross = {
        ArrayRef(query.real).slice(row * width, width),
        e.cacheStore().entry(e.cache(op.getCache()),
                             ragged.steps[entry.sequence].sequence)};
    for (int64_t head = 0; head < heads; ++head)
      attendToSource(
          op, cross, head,
          MutableArrayRef(result.real).slice((row * heads + head) * dv, dv));
  }
  e.set(op.getResult(), std::move(result));
  return {};
}

void attachAttention(MLIRContext *context) {
  attachEvaluator<SdpaOp, evaluateSdpa>(context);
  attachEvaluator<CrossSdpaOp, evaluateCrossSdpa>(context);
}

} // namespace transom
