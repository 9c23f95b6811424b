// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules for attention: `attn.sdpa` (heads, widths, lengths, masks, cache,
// slopes), `attn.append` and `attn.cross_sdpa`.
#include "dialects/attn/AttnShapeRules.h"

using namespace mlir;

namespace transom::attn {

using namespace rules;

/// Rule 2: operands match the mask kind.
static LogicalResult checkMaskOperands(SdpaOp op, EmitError emitError) {
  MaskKind kind = op.getMaskKind();
  bool wantsMask = kind == MaskKind::Keys || kind == MaskKind::Additive ||
                   kind == MaskKind::Select;
  bool wantsRagged = kind == MaskKind::Ragged;
  if (wantsMask == static_cast<bool>(op.getMask()) &&
      wantsRagged == static_cast<bool>(op.getRagged()))
    return success();
  return violated(emitError, 2)
         << "expects " << (wantsMask ? "a mask" : "no mask") << " and "
         << (wantsRagged ? "a ragged batch" : "no ragged batch")
         << " for mask kind '" << stringifyMaskKind(kind) << "'";
}

/// Rules 3 to 5: returns the result width.
static FailureOr<int64_t> checkWidths(SdpaOp op, const Shaped &query,
                                      const Shaped &key, const Shaped &value,
                                      EmitError emitError) {
  int64_t heads = op.getHeads(), kvHeads = op.getKvHeads();
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0)
    return violated(emitError, 3)
           << "expects heads to be a positive multiple of kv_heads, "
              "got "
           << heads << " and " << kvHeads;
  std::optional<int64_t> q = query.last().constant();
  std::optional<int64_t> k = key.last().constant();
  std::optional<int64_t> v = value.last().constant();
  if (!q || !k || *q % heads != 0 || *k % kvHeads != 0 ||
      *q / heads != *k / kvHeads)
    return violated(emitError, 4)
           << "expects query and key to be " << heads << " and " << kvHeads
           << " heads of one size wide, got '" << query.last().str()
           << "' and '" << key.last().str() << "'";
  if (!v || *v % kvHeads != 0)
    return violated(emitError, 5)
           << "expects value to be " << kvHeads << " heads wide, got '"
           << value.last().str() << "'";
  return *v / kvHeads * heads;
}

/// Rule 8: the mask operand's element type and sizes.
static LogicalResult checkMaskShape(SdpaOp op, const Shaped &query,
                                    const Shaped &key, EmitError emitError) {
  if (!op.getMask())
    return success();
  Shaped mask(op.getMask());
  bool additive = op.getMaskKind() == MaskKind::Additive;
  if (additive ? !mask.isFloat() : !mask.isBool())
    return violated(emitError, 8)
           << "expects a " << (additive ? "float" : "bool")
           << " mask for mask kind '" << stringifyMaskKind(op.getMaskKind())
           << "', got " << text(mask);
  SmallVector<Polynomial> scores = {query.dims[0], Polynomial(op.getHeads()),
                                    query.dims[1], key.dims[1]};
  if (op.getMaskKind() == MaskKind::Keys)
    scores = {key.dims[0], key.dims[1]};
  auto dims = broadcastShapes(scores, mask.dims);
  bool fits = dims && *dims == scores;
  if (op.getMaskKind() == MaskKind::Keys)
    fits = mask.dims == scores;
  if (fits)
    return success();
  return violated(emitError, 8)
         << "expects a mask that broadcasts to " << text(scores) << ", got "
         << text(mask.dims) << suggestReshape(mask.dims, scores);
}

/// Rule 9: the cache type matches the operation.
static LogicalResult checkCache(SdpaOp op, const Shaped &key,
                                const Shaped &value, EmitError emitError) {
  if (!op.getCache())
    return success();
  if (op.getMaskKind() != MaskKind::Ragged || !op.getCausal())
    return violated(emitError, 9)
           << "expects a ragged batch and 'causal' with a cache";
  int64_t heads = op.getKvHeads();
  auto expected = CacheType::getChecked(
      emitError, op.getContext(), heads, *key.last().constant() / heads,
      *value.last().constant() / heads, static_cast<int64_t>(op.getWindow()));
  if (!expected)
    return failure();
  if (op.getCache().getType() == expected)
    return success();
  return violated(emitError, 9) << "expects a cache of type " << expected
                                << ", got " << op.getCache().getType();
}

/// Constraint 10: [heads] or [heads, 2].
static LogicalResult checkSlopes(const Shaped &slopes, const Polynomial &heads,
                                 Type element, EmitError emitError) {
  if (slopes.rank() == 2 && slopes.dims[0] == heads &&
      slopes.dims[1] == Polynomial(2) && slopes.element == element)
    return success();
  return expectVector(slopes, "slopes", heads, element, emitError, 10);
}

/// Constraint 11: [heads, 2R + 1].
static LogicalResult checkRelativeBias(SdpaOp op, const Shaped &query,
                                       EmitError emitError) {
  if (!op.getRelativeBias())
    return success();
  Shaped bias(op.getRelativeBias());
  std::optional<int64_t> width =
      bias.rank() == 2 ? bias.last().constant() : std::nullopt;
  if (width && *width % 2 == 1 && bias.dims[0] == Polynomial(op.getHeads()) &&
      bias.element == query.element)
    return success();
  return violated(emitError, 11)
         << "expects a relative bias [" << op.getHeads()
         << ", an odd number] of the query's type, got " << text(bias);
}

std::optional<PositionBuckets> SdpaOp::getPositionBuckets() {
  Value table = getPositionKeys() ? getPositionKeys() : getPositionQueries();
  if (!table)
    return std::nullopt;
  Shaped positions(table);
  int64_t rows =
      positions.rank() ? positions.dims[0].constant().value_or(0) : 0;
  auto heads = static_cast<int64_t>(getHeads());
  return PositionBuckets{heads > 0 && rows % heads == 0 ? rows / heads : 0,
                         static_cast<int64_t>(getMaxDistance())};
}

/// Constraint 14.
static LogicalResult checkPositionTable(SdpaOp op, Value table, StringRef name,
                                        const Shaped &query, int64_t positions,
                                        EmitError emitError) {
  if (!table)
    return success();
  auto heads = static_cast<int64_t>(op.getHeads());
  Shaped shaped(table);
  const SmallVector<Polynomial> dims = {
      Polynomial(heads * positions),
      Polynomial(*query.last().constant() / heads)};
  if (positions >= 2 && positions % 2 == 0 && shaped.element == query.element &&
      shaped.dims == dims)
    return success();
  return violated(emitError, 14)
         << "expects " << name << " [" << heads << " * an even number, "
         << dims[1].str() << "] of the query's type, as many as others, got "
         << text(shaped);
}

/// Constraints 14 to 16.
static LogicalResult checkPositions(SdpaOp op, const Shaped &query,
                                    const Shaped &key, EmitError emitError) {
  // Without positions there is no distance.
  std::optional<PositionBuckets> rule = op.getPositionBuckets();
  auto distance = static_cast<int64_t>(op.getMaxDistance());
  if (!rule) {
    if (distance == 0)
      return success();
    return violated(emitError, 16)
           << "expects 'max_distance' beside positions only, got " << distance;
  }
  // Check the tables, then the operation and the buckets.
  for (auto [table, name] :
       {std::make_pair(op.getPositionKeys(), "position keys"),
        std::make_pair(op.getPositionQueries(), "position queries")})
    if (failed(checkPositionTable(op, table, name, query, rule->positions,
                                  emitError)))
      return failure();
  if (op.getHeads() != op.getKvHeads() || op.getCache() ||
      query.dims[query.rank() - 2] != key.dims[key.rank() - 2])
    return violated(emitError, 15) << "expects positions with heads that are "
                                      "kv_heads, query and key of "
                                      "one length and no cache";
  if (rule->isValid())
    return success();
  return violated(emitError, 16)
         << "expects 'max_distance' 0, or from n / 4 + 2 to "
         << PositionBuckets::largestDistance << " with n >= 4, got " << distance
         << " with n = " << rule->positions;
}

/// Constraint 12: a query that is not ragged has no positions if the keys are.
static LogicalResult checkQueryOfRaggedKeys(SdpaOp op, const Shaped &query,
                                            EmitError emitError) {
  if (query.rank() == 2 ||
      !(op.getCausal() || op.getWindow() || op.getSlopes() ||
        op.getRelativeBias() || op.getPositionBuckets() || op.getCache()))
    return success();
  return violated(emitError, 12)
         << "expects no 'causal', window, slopes, relative bias, positions and "
            "cache for a query of rank 3 with a ragged batch";
}

/// Constraint 13.
static LogicalResult checkSigns(SdpaOp op, EmitError emitError) {
  const auto window = static_cast<int64_t>(op.getWindow());
  const double cap = op.getSoftCap().convertToDouble();
  if (window >= 0 && cap >= 0)
    return success();
  return violated(emitError, 13)
         << "expects a window and a soft cap that are not negative, got "
         << window << " and " << cap;
}

/// Constraint 1: the same float type, and ranks that match the mask kind.
static LogicalResult checkOperands(SdpaOp op, EmitError emitError) {
  Shaped query(op.getQuery());
  const bool ragged = op.getMaskKind() == MaskKind::Ragged;
  const int64_t rank = ragged ? 2 : 3;
  for (auto [operand, name] : {std::make_pair(op.getQuery(), "query"),
                               std::make_pair(op.getKey(), "key"),
                               std::make_pair(op.getValue(), "value")}) {
    Shaped shaped(operand);
    const bool fits = shaped.rank() == rank || (operand == op.getQuery() &&
                                                ragged && shaped.rank() == 3);
    if (!shaped.isFloat() || shaped.element != query.element || !fits)
      return violated(emitError, 1)
             << "expects a " << name << " of rank " << rank
             << " and one float type, got " << text(shaped);
  }
  return success();
}

Types SdpaOp::inferShapes(EmitError emitError) {
  // Check ranks, element types and widths.
  Shaped query(getQuery()), key(getKey()), value(getValue());
  int64_t rank = getMaskKind() == MaskKind::Ragged ? 2 : 3;
  if (failed(checkOperands(*this, emitError)) ||
      failed(checkSigns(*this, emitError)))
    return failure();
  if (failed(checkMaskOperands(*this, emitError)))
    return failure();
  FailureOr<int64_t> width = checkWidths(*this, query, key, value, emitError);
  if (failed(width))
    return failure();
  // Check lengths and batches.
  size_t length = rank - 2;
  if (key.dims[length] != value.dims[length])
    return violated(emitError, 6)
           << "expects key and value of one length, got '"
           << key.dims[length].str() << "' and '" << value.dims[length].str()
           << "'";
  if (rank == 3 &&
      (query.dims[0] != key.dims[0] || query.dims[0] != value.dims[0]))
    return violated(emitError, 7)
           << "expects query, key and value of one batch, got '"
           << query.dims[0].str() << "', '" << key.dims[0].str() << "' and '"
           << value.dims[0].str() << "'";
  // Check mask, cache and biases.
  if (rank == 3 && failed(checkMaskShape(*this, query, key, emitError)))
    return failure();
  if (rank == 2 && failed(checkQueryOfRaggedKeys(*this, query, emitError)))
    return failure();
  if (failed(checkCache(*this, key, value, emitError)))
    return failure();
  if (getSlopes() &&
      failed(checkSlopes(Shaped(getSlopes()), Polynomial(getHeads()),
                         query.element, emitError)))
    return failure();
  if (failed(checkRelativeBias(*this, query, emitError)) ||
      failed(checkPositions(*this, query, key, emitError)))
    return failure();
  query.dims.back() = Polynomial(*width);
  return oneResult(query.dims, query.element);
}

//===----------------------------------------------------------------------===//
// Read-only caches
//===----------------------------------------------------------------------===//

namespace {

/// The operands that both operations have in common.
struct ReadOnlyCache {
  CacheType cache;
  Polynomial tokens; ///< number of tokens in the ragged batch
};

} // namespace

/// Constraint 1. A parsed operation's operands may have any type.
static FailureOr<ReadOnlyCache> getReadOnlyCache(Value ragged, Value cache,
                                                 EmitError emitError) {
  auto batch = dyn_cast<RaggedType>(ragged.getType());
  if (!batch)
    return emitError() << "expects a ragged batch, got " << ragged.getType();
  auto type = dyn_cast<CacheType>(cache.getType());
  if (!type || !type.isReadOnly())
    return violated(emitError, 1)
           << "expects a read-only cache, got " << cache.getType();
  return ReadOnlyCache{type,
                       Polynomial::symbol(batch.getRows().getValue().str())};
}

/// Constraint 2 of `attn.append` for the key or the value.
static LogicalResult checkAppended(const Shaped &got, StringRef name,
                                   ArrayRef<Polynomial> dims, Type element,
                                   EmitError emitError) {
  if (got.isFloat() && got.element == element && ArrayRef(got.dims) == dims)
    return success();
  return violated(emitError, 2) << "expects a float " << name << " "
                                << text(dims) << ", got " << text(got);
}

Types AppendOp::inferShapes(EmitError emitError) {
  Operation *op = getOperation();
  FailureOr<ReadOnlyCache> to =
      getReadOnlyCache(op->getOperand(3), op->getOperand(4), emitError);
  if (failed(to))
    return failure();
  CacheType cache = to->cache;
  Shaped state(getState()), key(getKey()), value(getValue());
  for (auto [shaped, name, width] :
       {std::make_tuple(&key, "key", cache.getKey()),
        std::make_tuple(&value, "value", cache.getValue())})
    if (failed(checkAppended(*shaped, name,
                             {to->tokens, Polynomial(cache.getHeads() * width)},
                             key.element, emitError)))
      return failure();
  return oneResult(state.dims, state.element);
}

Types CrossSdpaOp::inferShapes(EmitError emitError) {
  Operation *op = getOperation();
  FailureOr<ReadOnlyCache> from =
      getReadOnlyCache(op->getOperand(1), op->getOperand(2), emitError);
  if (failed(from))
    return failure();
  CacheType cache = from->cache;
  Polynomial rows = from->tokens;
  Shaped query(getQuery());
  if (!query.isFloat() || query.rank() != 2 || query.dims[0] != rows)
    return violated(emitError, 2) << "expects a float query ['" << rows.str()
                                  << "', ...], got " << text(query);
  auto heads = static_cast<int64_t>(getHeads());
  if (heads < 1 || heads % cache.getHeads() != 0)
    return violated(emitError, 3)
           << "expects heads to be a positive multiple of the cache's "
           << cache.getHeads() << ", got " << heads;
  if (query.last() != Polynomial(heads * cache.getKey()))
    return violated(emitError, 4)
           << "expects a query of " << heads << " heads of " << cache.getKey()
           << ", got '" << query.last().str() << "'";
  return oneResult({rows, Polynomial(heads * cache.getValue())}, query.element);
}

} // namespace transom::attn
