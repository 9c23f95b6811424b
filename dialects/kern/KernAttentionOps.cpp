// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its key panels: reads, writes and verifiers. Constraint numbers
// refer to the op descriptions.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

BUFFER_OP(PackKeysOp, (ValueRange{getInput()}), std::nullopt, Polynomial())

bool AttentionOp::acceptsStride() { return true; }
Value AttentionOp::getAccessedCache() { return getCache(); }

SmallVector<Value> AttentionOp::readBuffers() {
  return getBuffers({getQuery(), getKey(), getValue(), getContentToPosition(),
                     getPositionToContent(), getMask()});
}
SmallVector<Value> AttentionOp::writtenBuffers() {
  return getBuffers({getOuts(), getCopy(), getScales(), getScratch(),
                     getPartials(), getCounters()});
}
CacheType AttentionOp::getCacheType() {
  return getCache() ? llvm::cast<CacheType>(getCache().getType()) : CacheType();
}
SmallVector<Value> AttentionOp::getPositionScores() {
  return getBuffers({getContentToPosition(), getPositionToContent()});
}
std::optional<PositionBuckets> AttentionOp::getPositionBuckets() {
  SmallVector<Value> scores = getPositionScores();
  if (scores.empty())
    return std::nullopt;
  Sizes sizes = getSizes(scores.front());
  int64_t columns = sizes.empty() ? 0 : sizes.back().constant().value_or(0);
  return PositionBuckets{columns, int64_t(getMaxDistance())};
}
std::optional<Polynomial> AttentionOp::ownedRows() { return std::nullopt; }

/// Returns the operation that creates the table for these keys. In a layer body
/// the table is an argument, so look for the operation that defines the same
/// key symbol.
static RaggedBatchOp getRaggedBatch(AttentionOp op) {
  if (auto ragged = op.getKeyRagged().getDefiningOp<RaggedBatchOp>())
    return ragged;
  RaggedBatchOp found;
  if (!op.getKey())
    return found;
  Polynomial keys = getBufferType(op.getKey()).getDims().front();
  if (auto module = op->getParentOfType<ModuleOp>())
    module.walk([&](RaggedBatchOp ragged) {
      if (Polynomial::symbol(ragged.getKeys().str()) == keys)
        found = ragged;
    });
  return found;
}

std::string kern::pairsName(StringRef rows, int64_t window) {
  std::string name = ("pairs_of_" + rows).str();
  return window ? name + "_window_" + std::to_string(window) : name;
}

std::string kern::sourcePairsName(StringRef rows) {
  return pairsName(rows) + "_source";
}

/// Number of query-key pairs. With a mask that has its own symbol; with rows
/// from another ragged batch it is bounded by the columns.
static Polynomial getPairs(AttentionOp op) {
  Polynomial rows = getBufferType(op.getQuery()).getRowCount();
  if (CacheType cache = op.getCacheType())
    return Polynomial::symbol(cache.isReadOnly()
                                  ? sourcePairsName(rows.str())
                                  : pairsName(rows.str(), cache.getWindow()));
  RaggedBatchOp ragged = getRaggedBatch(op);
  if (!ragged)
    return rows * getBufferType(op.getKey()).getRowCount();
  if (Value mask = ragged.getMask()) {
    if (op.getQueryRagged().getType() == op.getKeyRagged().getType())
      return Polynomial::symbol(pairsName(ragged.getRows()));
    return rows * getBufferType(mask).getDims()[1];
  }
  Result<Polynomial> columns = Polynomial::parse(ragged.getColumns().str());
  return rows * (columns ? *columns : getBufferType(op.getKey()).getRowCount());
}

Polynomial AttentionOp::flops() {
  Polynomial width = getBufferType(getQuery()).getDims().back() +
                     getBufferType(getOuts()).getDims().back();
  return Polynomial(2) * width * getPairs(*this);
}

bool AttentionOp::canRoundOutput(Value out, const RoundedBuffer &rounded,
                                 bool onlyRounded, RoundObstacle &obstacle) {
  if (rounded.scales && getOuts() == out && !getCopy() && isF32(out)) {
    const int64_t columns = *getSizes(out).back().constant();
    if (columns / int64_t(getHeads()) %
            *findQuantizedGroup(rounded.numbers, rounded.scales) ==
        0)
      return true;
    obstacle = RoundObstacle::SplitGroups;
    return false;
  }
  if (!replacesOut(getOuts(), out, rounded, onlyRounded, obstacle))
    return false;
  if (llvm::cast<BufferType>(getQuery().getType()).isBf16())
    return true;
  obstacle = RoundObstacle::AttentionInF32;
  return false;
}

void AttentionOp::roundOutput(Value, const RoundedBuffer &rounded, bool) {
  if (!rounded.scales) {
    getOutsMutable().assign(rounded.numbers);
    return;
  }
  getCopyMutable().assign(rounded.numbers);
  getScalesMutable().assign(rounded.scales);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Constraint 3: fails unless the last size is a constant multiple of `heads`;
/// otherwise returns the head size.
static FailureOr<int64_t> headSize(AttentionOp op, const char *name,
                                   Value buffer, int64_t heads) {
  Sizes sizes = getSizes(buffer);
  std::optional<int64_t> last =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!(isF32(buffer) || isBf16(buffer)) || !last || *last % heads ||
      *last == 0)
    return Constraint{op, 3}.expects()
           << name << " of f32 or bf16 whose last size is a multiple of "
           << heads << " heads, got " << buffer.getType();
  return *last / heads;
}

/// Constraint 5.
static LogicalResult verifyRows(AttentionOp op, ValueRange buffers) {
  for (Value buffer : buffers)
    if (getBufferType(buffer).getKeyPanels())
      return Constraint{op, 5}.expects() << "only the key in key panels";
  return success();
}

/// Constraints 4 to 7: keys and values in buffers.
static LogicalResult verifyKeys(AttentionOp op, int64_t keySize) {
  bool rounded = isBf16(op.getQuery());
  if (isBf16(op.getKey()) != rounded || isBf16(op.getValue()) != rounded)
    return Constraint{op, 6}.expects()
           << "query, key and value of one type, got "
           << getBufferType(op.getQuery()).getElementType() << ", "
           << getBufferType(op.getKey()).getElementType() << " and "
           << getBufferType(op.getValue()).getElementType();
  if (rounded && keySize % 2)
    return Constraint{op, 7}.expects()
           << "heads of an even size in bf16, got " << keySize;
  if (!getBufferType(op.getKey()).getKeyPanels())
    return Constraint{op, 4}.expects() << "the key in key panels";
  return verifyRows(op, {op.getQuery(), op.getValue(), op.getOuts()});
}

/// Constraints 5, 18 and 19.
static LogicalResult verifyCache(AttentionOp op) {
  CacheType cache = op.getCacheType();
  bool isOneTable =
      op.getQueryRagged().getType() == op.getKeyRagged().getType();
  // In a layer body the table may be an argument.
  Operation *table = op.getKeyRagged().getDefiningOp();
  if (cache.isReadOnly() && ((table && !llvm::isa<CacheBatchOp>(table)) ||
                             op.getCausal() || op.getMask()))
    return Constraint{op, 18}.expects()
           << "keys of a 'kern.cache_batch', no 'causal' and no mask beside a "
              "read-only cache";
  if (!cache.isReadOnly() && (!isOneTable || !op.getCausal() || op.getMask()))
    return Constraint{op, 18}.expects()
           << "ragged of one table, 'causal' and no mask "
              "beside a cache";
  if (getBufferType(op.getQuery()).getElementType() != cache.getQueryType() ||
      int64_t(op.getKvHeads()) != cache.getHeads() ||
      int64_t(op.getWindow()) != cache.getWindow())
    return Constraint{op, 19}.expects()
           << "the element type, 'kv_heads' and window of "
              "the cache, got "
           << getBufferType(op.getQuery()).getElementType() << ", "
           << int64_t(op.getKvHeads()) << " and " << int64_t(op.getWindow())
           << " beside " << cache;
  return verifyRows(op, {op.getQuery(), op.getOuts()});
}

/// Constraints 2 to 9, 18 and 19.
static LogicalResult verifyHeads(AttentionOp op, int64_t &valueSize) {
  // Get the head sizes from the operands or the cache.
  if (bool(op.getKey()) == bool(op.getCache()))
    return Constraint{op, 2}.expects() << "key and value, or a cache";
  CacheType cache = op.getCacheType();
  FailureOr<int64_t> dq = headSize(op, "query", op.getQuery(), op.getHeads());
  FailureOr<int64_t> dk =
      failed(dq) ? dq
      : cache    ? cache.getKey()
                 : headSize(op, "key", op.getKey(), op.getKvHeads());
  FailureOr<int64_t> dv =
      failed(dk) ? dk
      : cache    ? cache.getValue()
                 : headSize(op, "value", op.getValue(), op.getKvHeads());
  FailureOr<int64_t> out =
      failed(dv) ? dv : headSize(op, "outs", op.getOuts(), op.getHeads());
  if (failed(out))
    return failure();
  // Compare head sizes, types and rows.
  if (*dq != *dk || *dv != *out)
    return Constraint{op, 3}.expects()
           << "heads of one size in query and key, and in "
              "value and outs, got "
           << *dq << " and " << *dk << ", " << *dv << " and " << *out;
  if (failed(cache ? verifyCache(op) : verifyKeys(op, *dk)))
    return failure();
  if (isBf16(op.getOuts()) && !isBf16(op.getQuery()))
    return Constraint{op, 8}.expects() << "outs of f32 beside a query of f32";
  valueSize = *dv;
  if (getBufferType(op.getQuery()).getRowCount() !=
      getBufferType(op.getOuts()).getRowCount())
    return Constraint{op, 9}.expects()
           << "query and outs of equal rows, got "
           << text(getSizes(op.getQuery())) << " and "
           << text(getSizes(op.getOuts()));
  return success();
}

/// Fails unless a buffer has a row per worker with at least this many elements.
static LogicalResult verifyPerWorker(Constraint constraint, const char *name,
                                     Value buffer, int64_t count,
                                     Type elementType) {
  Sizes sizes = getSizes(buffer);
  std::optional<int64_t> own =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (getBufferType(buffer).getElementType() == elementType &&
      sizes.size() == 2 && sizes[0] == Polynomial::symbol("parts") && own &&
      *own >= count)
    return success();
  return constraint.expects() << name << " [parts, " << count << "] of "
                              << elementType << ", got " << buffer.getType();
}

bool AttentionOp::suitsAmx() {
  return kern::suitsAmx(getBufferType(getQuery()), getHeads(), bool(getCache()),
                        getCausal());
}

/// Constraints 10 to 13.
static LogicalResult verifySchedule(AttentionOp op, int64_t valueSize) {
  AttentionSchedule schedule = op.getSchedule();
  Builder b(op.getContext());
  if (failed(verifyPerWorker(
          {op, 10}, "a scratch", op.getScratch(),
          getAttentionScratchFloats(schedule, valueSize, op.suitsAmx()),
          b.getF32Type())))
    return failure();
  if (!op.getPartials())
    return schedule.kind == AttentionSchedule::Kind::SplitKv
               ? Constraint{op, 11}.expects()
                     << "partials and counters for 'split_kv'"
               : success();
  if (failed(verifyPerWorker(
          {op, 12}, "partials", op.getPartials(),
          kSplitKvSlots * getAttentionSlotFloats(valueSize, op.suitsAmx()),
          b.getF32Type())))
    return failure();
  return verifyPerWorker({op, 13}, "counters", op.getCounters(), kSplitKvSlots,
                         b.getI64Type());
}

/// Constraints 14 and 15.
static LogicalResult verifyMask(AttentionOp op) {
  if (!op.getMask())
    return op.getMaskValue() ? Constraint{op, 15}.expects()
                                   << "a bool mask beside 'mask_value'"
                             : success();
  Type element = getBufferType(op.getMask()).getElementType();
  if (!(element.isF32() || element.isInteger(1)) ||
      getBufferType(op.getMask()).getRank() > 4)
    return Constraint{op, 14}.expects()
           << "a mask of f32 or bool of rank 4 at most, got "
           << op.getMask().getType();
  if (op.getMaskValue() && !element.isInteger(1))
    return Constraint{op, 15}.expects() << "a bool mask beside 'mask_value'";
  return success();
}

/// Constraints 20, 21 and 22.
static LogicalResult verifyBiases(AttentionOp op, int64_t heads) {
  // Slopes may differ by side.
  if (Value slopes = op.getSlopes()) {
    auto type = llvm::cast<WeightType>(slopes.getType());
    bool bySide =
        type.getShape() == ArrayRef<int64_t>{heads, 2} && !type.isBf16();
    if (failed(bySide ? verifyLayout({op, 20}, "the slopes", slopes,
                                     WeightLayout::Rows)
                      : verifyVector({op, 20}, "slopes", slopes, heads,
                                     WeightLayout::Rows)))
      return failure();
  }
  // A relative bias has an odd number of columns.
  if (Value bias = op.getRelativeBias()) {
    auto type = llvm::cast<WeightType>(bias.getType());
    ArrayRef<int64_t> shape = type.getShape();
    if (type.isBf16() || shape.size() != 2 || shape[0] != heads ||
        shape[1] % 2 == 0)
      return Constraint{op, 21}.expects()
             << "a relative bias of f32 of size [" << heads
             << ", an odd number], got " << type;
    if (failed(verifyLayout({op, 21}, "the relative bias", bias,
                            WeightLayout::Rows)))
      return failure();
  }
  // Slopes by column need self-attention without a cache.
  if (op.getByColumn() && (op.getCache() || op.getQueryRagged().getType() !=
                                                op.getKeyRagged().getType()))
    return Constraint{op, 22}.expects()
           << "ragged of one table and no cache beside 'by_column'";
  return success();
}

/// Constraints 23 and 24.
static LogicalResult verifyPositions(AttentionOp op, int64_t heads) {
  // Without positions there is no distance.
  std::optional<PositionBuckets> rule = op.getPositionBuckets();
  const int64_t distance = op.getMaxDistance();
  if (!rule) {
    if (distance == 0)
      return success();
    return Constraint{op, 24}.expects()
           << "'max_distance' beside scores of positions only, got "
           << distance;
  }
  // Check the scores, then the operation and the buckets.
  const Sizes sizes = {Polynomial(heads) *
                           getBufferType(op.getQuery()).getRowCount(),
                       Polynomial(rule->positions)};
  for (Value scores : op.getPositionScores()) {
    if (failed(verifyRowsOfF32({op, 23}, "scores of positions", scores)))
      return failure();
    if (rule->positions < 2 || rule->positions % 2 || getSizes(scores) != sizes)
      return Constraint{op, 23}.expects()
             << "scores of positions of [" << heads
             << " * rows of the query, an even number], got "
             << text(getSizes(scores));
  }
  if (int64_t(op.getKvHeads()) != heads || op.getCache() ||
      op.getQueryRagged().getType() != op.getKeyRagged().getType())
    return Constraint{op, 23}.expects()
           << "'heads' that are 'kv_heads', ragged of one table and no cache "
              "beside scores of positions";
  if (rule->isValid())
    return success();
  return Constraint{op, 24}.expects()
         << "'max_distance' 0, or from n / 4 + 2 to "
         << PositionBuckets::largestDistance << " with n >= 4, got " << distance
         << " with n = " << rule->positions;
}

/// Constraints 25 and 26.
static LogicalResult verifyCopy(AttentionOp op, int64_t valueSize) {
  Value copy = op.getCopy();
  if (!copy)
    return success();
  if (!isF32(op.getOuts()) || !isQuantized(copy))
    return Constraint{op, 25}.expects()
           << "'copy' of i8 beside outs of f32, got " << copy.getType()
           << " and " << op.getOuts().getType();
  if (failed(
          verifySameSizes({op, 25}, "outs and 'copy'", op.getOuts(), copy)) ||
      failed(verifyQuantized({op, 25}, copy, op.getScales())))
    return failure();
  if (int64_t group = *findQuantizedGroup(copy, op.getScales());
      valueSize % group)
    return Constraint{op, 26}.expects()
           << "heads of whole groups of " << group << " columns beside 'copy', "
           << "got " << valueSize << " columns";
  return success();
}

LogicalResult AttentionOp::verify() {
  int64_t heads = getHeads(), kvHeads = getKvHeads(), valueSize = 0;
  if (heads <= 0 || kvHeads <= 0 || heads % kvHeads)
    return Constraint{*this, 1}.expects()
           << "'heads' that are a multiple of 'kv_heads', got " << heads
           << " and " << kvHeads;
  if (failed(verifyHeads(*this, valueSize)) ||
      failed(verifySchedule(*this, valueSize)) || failed(verifyMask(*this)) ||
      failed(verifyCopy(*this, valueSize)))
    return failure();
  if (failed(verifyBiases(*this, heads)) ||
      failed(verifyPositions(*this, heads)))
    return failure();
  double cap = getSoftCap().convertToDouble();
  if (int64_t(getWindow()) < 0 || !(cap >= 0))
    return Constraint{*this, 16}.expects()
           << "a window and a soft cap that are not negative, got "
           << int64_t(getWindow()) << " and " << cap;
  auto ragged = getQueryRagged().getDefiningOp<RaggedBatchOp>();
  if (ragged && ragged.getKeepFirst() && !getByColumn() &&
      (getCausal() || getWindow()))
    return Constraint{*this, 17}.expects()
           << "ragged without 'keep_first' beside 'causal' or "
              "'window' that do not go by the column";
  return success();
}

LogicalResult PackKeysOp::verify() {
  if (failed(verifyRowsOfFloat({*this, 1}, "the input", getInput())))
    return failure();
  if (!getBufferType(getOuts()).getKeyPanels())
    return Constraint{*this, 2}.expects()
           << "key panels as outs, got " << getOuts().getType();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (input.empty() || input.back() != outs.back())
    return Constraint{*this, 3}.expects()
           << "input and outs of one last size, got " << text(input) << " and "
           << text(outs);
  if (isBf16(getInput()) && !isBf16(getOuts()))
    return Constraint{*this, 4}.expects()
           << "outs of bf16 for an input of bf16";
  return success();
}
