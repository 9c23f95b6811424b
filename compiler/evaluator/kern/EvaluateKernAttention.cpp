// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in kern over ragged batches: each query row attends to the keys in
// its sequence, read from key panels or a cache.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/kern/KernAttention.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace transom {

using namespace kern;

KernAttention::KernAttention(AttentionOp op, Evaluation &e)
    : op(op), e(e), heads(op.getHeads()), group(heads / op.getKvHeads()),
      dk(e.kern->columns(op.getQuery()) / heads),
      dv(e.kern->columns(op.getOuts()) / heads),
      buckets(op.getPositionBuckets()) {
  const RaggedBatch &own = e.ragged(op.getQueryRagged());
  const RaggedBatch &others = e.ragged(op.getKeyRagged());
  queries = getTokens(own, false);
  if (op.getCache()) {
    for (const SequenceRows &step : others.steps) {
      kept.push_back(
          &e.cacheStore().entry(e.cache(op.getCache()), step.sequence));
      auto &positions = keys.emplace_back();
      for (int64_t i = 0; i < step.past + step.rows; ++i)
        positions.push_back({i, i});
    }
    return;
  }
  keys = getTokens(others, true);
  keyPositions = KernEvaluation::keyPositions(others);
}

std::vector<std::vector<KernAttention::Token>>
KernAttention::getTokens(const RaggedBatch &ragged, bool keysOnly) {
  std::vector<std::vector<Token>> all(ragged.batch);
  for (auto [row, entry] : llvm::enumerate(ragged.rows))
    if (!keysOnly || entry.isKey) {
      auto &tokens = all[entry.sequence];
      tokens.push_back({static_cast<int64_t>(row),
                        op.getByColumn()
                            ? entry.column
                            : static_cast<int64_t>(tokens.size())});
    }
  return all;
}

Number KernAttention::keyAt(int64_t sequence, int64_t head, const Token &key,
                            int64_t i) {
  int64_t column = head / group * dk + i;
  return op.getCache()
             ? kept[sequence]->keys[key.row][column]
             : e.kern->read(op.getKey(), keyPositions[key.row], column);
}

Number KernAttention::valueAt(int64_t sequence, int64_t head, const Token &key,
                              int64_t i) {
  int64_t column = head / group * dv + i;
  return op.getCache() ? kept[sequence]->values[key.row][column]
                       : e.kern->read(op.getValue(), key.row, column);
}

/// Fewer queries than keys are aligned with the last keys.
int64_t KernAttention::position(int64_t sequence, const Token &query) {
  if (op.getByColumn())
    return query.place;
  return query.place + static_cast<int64_t>(keys[sequence].size()) -
         static_cast<int64_t>(queries[sequence].size());
}

Number KernAttention::bias(int64_t head, int64_t distance) {
  Number sum = 0.0;
  if (op.getSlopes())
    sum += slopeBias(e.tensor(op.getSlopes()), head, distance);
  if (op.getRelativeBias())
    sum += relativeBias(head, distance);
  return sum;
}

Number KernAttention::relativeBias(int64_t head, int64_t distance) {
  const Tensor &table = e.tensor(op.getRelativeBias());
  int64_t reach = table.sizes[1] / 2;
  return table.real[head * table.sizes[1] + reach +
                    std::clamp(distance, -reach, reach)];
}

Number KernAttention::positionScore(Value scores, int64_t row, int64_t head,
                                    int64_t distance) {
  const int64_t rows = e.kern->rows(scores) / heads;
  return e.kern->read(scores, head * rows + row, buckets->getRow(distance));
}

bool KernAttention::isBoolMask() {
  auto type = cast<BufferType>(op.getMask().getType());
  return type.getElementType().isInteger(1);
}

Number KernAttention::maskAt(int64_t sequence, int64_t head, const Token &query,
                             const Token &key) {
  Sizes index;
  ArrayRef<int64_t> sizes = e.kern->sizes(op.getMask());
  int64_t full[] = {sequence, head, query.place, key.place};
  for (size_t d = 0; d < sizes.size(); ++d)
    index.push_back(sizes[d] == 1 ? 0 : full[4 - sizes.size() + d]);
  return e.kern->read(op.getMask(), index);
}

/// `query` and `key` are positions in their sequence.
bool KernAttention::inReach(int64_t query, int64_t key) {
  int64_t window = op.getWindow();
  if (op.getCausal() && key > query)
    return false;
  return window <= 0 ||
         (key > query - window && (op.getCausal() || key < query + window));
}

std::vector<Number> KernAttention::readQuery(int64_t head, const Token &query) {
  return e.kern->readColumns(op.getQuery(), query.row, head * dk, dk);
}

bool KernAttention::readHead(int64_t sequence, int64_t keyHead) {
  if (lastRead.sequence == sequence && lastRead.keyHead == keyHead)
    return false;
  lastRead = {sequence, keyHead, {}, {}};
  const int64_t head = keyHead * group;
  for (const Token &key : keys[sequence]) {
    for (int64_t i = 0; i < dk; ++i)
      lastRead.keys.push_back(keyAt(sequence, head, key, i));
    for (int64_t i = 0; i < dv; ++i)
      lastRead.values.push_back(valueAt(sequence, head, key, i));
  }
  return true;
}

Number KernAttention::multiply(int64_t sequence, int64_t head,
                               ArrayRef<Number> query, size_t key) {
  if (e.kern->machine)
    return dot(0.0, query, &lastRead.keys[key * query.size()]);
  std::vector<Number> numbers(dk);
  for (int64_t i = 0; i < dk; ++i)
    numbers[i] = keyAt(sequence, head, keys[sequence][key], i);
  return dot(0.0, query, numbers.data());
}

Number KernAttention::score(int64_t sequence, int64_t head, const Token &query,
                            ArrayRef<Number> numbers, size_t keyIndex) {
  const Token &key = keys[sequence][keyIndex];
  const int64_t position = this->position(sequence, query);
  if (!inReach(position, key.place))
    return getHidden();
  Number score = multiply(sequence, head, numbers, keyIndex);
  score *= constant(op.getScale().convertToDouble());
  if (double cap = op.getSoftCap().convertToDouble(); cap > 0)
    score = constant(cap) * tanh(score / constant(cap));
  score += bias(head, key.place - position);
  for (auto [scores, row] :
       {std::make_pair(op.getContentToPosition(), query.row),
        std::make_pair(op.getPositionToContent(), key.row)})
    if (scores)
      score += constant(op.getScale().convertToDouble()) *
               positionScore(scores, row, head, position - key.place);
  if (!op.getMask())
    return score;
  Number mask = maskAt(sequence, head, query, key);
  if (!isBoolMask())
    return score + mask;
  if (mask.real() != 0)
    return score;
  return op.getMaskValue() ? constant(op.getMaskValue()->convertToDouble())
                           : getHidden();
}

namespace {

/// A KV block in a row of scores.
struct KvBlock {
  MutableArrayRef<Number> scores;
  /// exp(block maximum - running maximum), and the factor for the earlier
  /// blocks.
  Number factor, factorOfEarlier;
};

} // namespace

/// Softmax by KV blocks: exponentials relative to each block's own maximum,
/// optionally rounded to bf16, and their sums merged in order. Zeros for a row
/// without a visible key.
static void softmaxByBlocks(MutableArrayRef<Number> scores, bool roundsToBf16) {
  // Calls in residues are short, but need several blocks.
  const size_t blockSize = Domain::getCurrent() ? 4 : kvBlockSize;
  for (Number &score : scores)
    score = makeExponent(score);
  std::vector<KvBlock> blocks;
  Number maximum = getHidden(), sum = 0.0;
  for (size_t first = 0; first < scores.size(); first += blockSize) {
    KvBlock &block = blocks.emplace_back();
    block.scores =
        scores.slice(first, std::min(blockSize, scores.size() - first));
    const Number own = getMaximum(block.scores);
    Number blockSum = 0.0;
    for (Number &score : block.scores) {
      score = isHidden(score) ? Number() : exp(score - own);
      if (roundsToBf16)
        score = roundToStorage(StorageType::BF16, score);
      blockSum += score;
    }
    const Number larger = getMaximum({maximum, own});
    block.factor = isHidden(own) ? Number() : exp(own - larger);
    block.factorOfEarlier =
        isHidden(maximum) ? Number() : exp(maximum - larger);
    sum = sum * block.factorOfEarlier + blockSum * block.factor;
    maximum = larger;
  }
  Number factorOfLater = 1.0;
  for (const KvBlock &block : llvm::reverse(blocks)) {
    const Number factor =
        isHidden(maximum) ? Number() : block.factor * factorOfLater / sum;
    for (Number &share : block.scores)
      share *= factor;
    factorOfLater *= block.factorOfEarlier;
  }
}

void KernAttention::attend(int64_t sequence, int64_t head, const Token &query) {
  if (const Bits *bits = Bits::getCurrent())
    return attendInBits(sequence, head, query, *bits);
  if (e.kern->machine)
    readHead(sequence, head / group);
  const std::vector<Token> &visible = keys[sequence];
  const std::vector<Number> numbers = readQuery(head, query);
  std::vector<Number> shares, values(visible.size());
  for (size_t key = 0; key < visible.size(); ++key)
    shares.push_back(score(sequence, head, query, numbers, key));
  softmaxByBlocks(
      shares, cast<BufferType>(op.getQuery().getType()).getFormat().element ==
                  StorageType::BF16);
  std::vector<Number> out;
  for (int64_t i = 0; i < dv; ++i) {
    for (size_t key = 0; key < visible.size(); ++key)
      values[key] = e.kern->machine ? lastRead.values[key * dv + i]
                                    : valueAt(sequence, head, visible[key], i);
    out.push_back(dot(0.0, shares, values.data()));
  }
  writeHead(head, query, out);
}

void KernAttention::writeHead(int64_t head, const Token &query,
                              MutableArrayRef<Number> numbers) {
  const int64_t begin = head * dv;
  auto write = [&](Value buffer) {
    for (int64_t i = 0; i < dv; ++i)
      e.kern->write(buffer, query.row, begin + i, numbers[i]);
  };
  write(op.getOuts());
  if (!op.getCopy())
    return;
  const int64_t size = *findQuantizedGroup(op.getCopy(), op.getScales());
  for (int64_t first = 0; first < dv; first += size) {
    auto [scale, sum] = quantizeGroup(numbers.slice(first, size));
    const int64_t at = (begin + first) / size * 2;
    e.kern->write(op.getScales(), query.row, at, scale);
    e.kern->write(op.getScales(), query.row, at + 1, sum);
  }
  write(op.getCopy());
}

void KernAttention::run() {
  // The schedule is not modelled: counters and partial results must be valid
  // for split-kv.
  SmallVector<Value> scratch = {op.getScratch()};
  if (op.getPartials())
    scratch.push_back(op.getPartials());
  for (Value memory : scratch)
    e.kern->scratch(memory);
  if (op.getCounters())
    e.kern->beginCounting(op.getCounters());
  for (size_t sequence = 0; sequence < queries.size(); ++sequence)
    for (int64_t head = 0; head < heads; ++head)
      for (const Token &query : queries[sequence])
        attend(static_cast<int64_t>(sequence), head, query);
  for (Value memory : scratch)
    e.kern->checkScratch(memory);
  if (op.getCounters())
    e.kern->endCounting(op.getCounters());
}

/// Fails if a cache lacks a position that a row attends to.
static Result<void> checkCache(AttentionOp op, Evaluation &e) {
  StringRef cache = e.cache(op.getCache());
  for (const SequenceRows &step : e.ragged(op.getKeyRagged()).steps) {
    size_t length = e.cacheStore().entry(cache, step.sequence).keys.size();
    if (length < static_cast<size_t>(step.past + step.rows))
      return rejected("reads " + std::to_string(step.past + step.rows) +
                      " positions of sequence " +
                      std::to_string(step.sequence) + ", the cache '" +
                      cache.str() + "' has " + std::to_string(length));
  }
  return {};
}

static Result<void> evaluateAttention(AttentionOp op, Evaluation &e) {
  if (op.getCache())
    if (auto there = checkCache(op, e); !there)
      return there;
  KernAttention(op, e).run();
  return {};
}

static Result<void> evaluatePackKeys(PackKeysOp op, Evaluation &e) {
  std::vector<int64_t> positions =
      KernEvaluation::keyPositions(e.ragged(op.getRagged()));
  for (auto [row, position] : llvm::enumerate(positions))
    for (int64_t i = 0; i < e.kern->columns(op.getInput()); ++i)
      e.kern->write(op.getOuts(), position, i,
                    e.kern->read(op.getInput(), row, i));
  return {};
}

void attachKernAttention(MLIRContext *context) {
  attachEvaluator<AttentionOp, evaluateAttention>(context);
  attachEvaluator<PackKeysOp, evaluatePackKeys>(context);
}

} // namespace transom
