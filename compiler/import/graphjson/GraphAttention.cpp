// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json attention and pooling: sizes that match each other and the cache.
#include "compiler/import/PositionBias.h"
#include "compiler/import/graphjson/GraphOpGroups.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace transom;
using graph::isBoolValue;
using graph::isFloatValue;
using graph::maxConstant;
using graph::Values;
using K = AttrKind;

/// Returns an attention's mask kind by the mask type.
static attn::MaskKind getMaskKind(Emitter &emit, Value mask) {
  if (!mask)
    return attn::MaskKind::None;
  if (!isBoolValue(mask))
    return attn::MaskKind::Additive;
  return emit.getShape(mask).size() == 2 ? attn::MaskKind::Keys
                                         : attn::MaskKind::Select;
}

namespace {

/// Sizes in an attention node.
struct AttentionSizes {
  int64_t heads, kvHeads, window;
  double scale, cap;
  bool causal;
};

} // namespace

static AttentionSizes attentionSizes(OpCall &call) {
  AttentionSizes sizes = {};
  sizes.heads = call.integer("heads", 1, 1, INT32_MAX);
  sizes.kvHeads = call.integer("kv_heads", sizes.heads, 1, INT32_MAX);
  std::optional<int64_t> width =
      call.emit.getShape(call.inputs[1]).back().constant();
  if (call.emit.failed())
    return sizes;
  if (sizes.heads % sizes.kvHeads || !width || *width % sizes.kvHeads) {
    const bool own = call.has("kv_heads");
    const std::string text =
        (own ? "'kv_heads' " : "'heads' ") + std::to_string(sizes.kvHeads) +
        " must divide " +
        (own ? "'heads' " + std::to_string(sizes.heads) + " and " : "") +
        "the key's width '" + call.emit.getShape(call.inputs[1]).back().str() +
        "'" +
        (width ? "; the nearest number that does is " +
                     std::to_string(getNearestDivisor(
                         sizes.kvHeads,
                         own ? std::gcd(sizes.heads, *width) : *width))
               : "");
    std::optional<JsonValue> at = call.find(own ? "kv_heads" : "heads");
    call.emit.fail((at ? *at : call.node.at).error(text));
    return sizes;
  }
  sizes.scale = call.number(
      "scale", 1 / std::sqrt(static_cast<double>(*width / sizes.kvHeads)));
  sizes.causal = call.flag("causal");
  sizes.window = call.integer("window", 0, 1, INT32_MAX);
  sizes.cap = call.number("soft_cap", 0);
  if (sizes.cap < 0)
    call.fail("'soft_cap' is negative");
  return sizes;
}

/// Returns the ALiBi slopes if the node requests them.
static Value makeSlopes(OpCall &call, int64_t heads) {
  bool symmetric = call.flag("symmetric");
  if (!call.flag("alibi")) {
    if (symmetric)
      call.fail("'symmetric' goes with 'alibi'");
    return {};
  }
  if (heads > int64_t(maxConstant) / 2)
    return call.fail("'alibi' with more than " +
                         std::to_string(maxConstant / 2) + " heads",
                     Status::Unsupported);
  std::vector<double> slopes = alibiSlopes(heads);
  if (symmetric)
    return call.emit.weight("alibi.symmetric_slopes." + std::to_string(heads),
                            symmetricSlopes(slopes));
  return call.emit.weight("alibi.slopes." + std::to_string(heads),
                          WeightExpr::values({heads}, slopes));
}

/// Returns the relative bias that the node names, by query-key distance.
static Value makeRelativeBias(OpCall &call, int64_t heads) {
  const std::string tensor = call.tensorName("relative_bias");
  if (tensor.empty() || call.emit.failed()) {
    if (call.has("max_distance"))
      call.fail("'max_distance' goes with 'relative_bias'");
    return {};
  }
  int64_t distance = call.integer("max_distance", 128, 1, 1 << 20);
  int64_t buckets = call.integer("buckets", 32, 4, maxConstant);
  if (call.emit.failed() ||
      !call.emit.checkTensor(tensor, std::vector<int64_t>{buckets, heads},
                             "buckets x heads"))
    return {};
  return call.emit.weight(
      tensor + ".by_distance",
      relativeBiasByDistance(WeightExpr::file(tensor), {buckets, distance}));
}

namespace {

/// Operands for disentangled attention; null without.
struct Positions {
  Value keys, queries;
  int64_t maxDistance = 0;
};

} // namespace

/// Returns the relative position tables that the node names, by head.
static Positions makePositions(OpCall &call, const AttentionSizes &sizes) {
  Positions positions;
  const std::string names[] = {call.tensorName("position_keys"),
                               call.tensorName("position_queries")};
  const int64_t count =
      call.integer("positions", 0, 2, 2 * PositionBuckets::largestDistance);
  positions.maxDistance =
      call.integer("position_distance", 0, 1, PositionBuckets::largestDistance);
  if (call.emit.failed())
    return positions;
  if (names[0].empty() && names[1].empty()) {
    for (const char *attr : {"positions", "position_distance"})
      if (call.has(attr))
        call.fail("'" + std::string(attr) +
                  "' goes with 'position_keys' and 'position_queries'");
    return positions;
  }
  const int64_t width =
      *call.emit.getShape(call.inputs[1]).back().constant() / sizes.kvHeads;
  auto make = [&](const std::string &tensor) -> Value {
    if (tensor.empty() || call.emit.failed() ||
        !call.emit.checkTensor(tensor,
                               std::vector<int64_t>{count, sizes.heads * width},
                               "positions x heads * key width"))
      return {};
    return call.emit.weight(
        tensor + ".by_head",
        positionsByHead(WeightExpr::file(tensor), count, sizes.heads, width));
  };
  positions.keys = make(names[0]);
  positions.queries = make(names[1]);
  return positions;
}

/// Returns the cache that the node names; null after an error.
static const GraphCache *findCache(OpCall &call) {
  JsonValue at = *call.find("cache");
  if (!call.step.ragged) {
    call.emit.fail(at.error("an attention with a cache is in a decoder"));
    return nullptr;
  }
  Result<std::string_view> name = at.asString();
  if (!name) {
    call.emit.fail(name.takeError());
    return nullptr;
  }
  Result<const GraphCache *> found = call.caches.take(std::string(*name), at);
  if (found)
    return *found;
  call.emit.fail(found.takeError());
  return nullptr;
}

/// Sets the cache sizes to the attention's sizes and returns the cache as an
/// operand.
static Value cacheOperand(OpCall &call, const GraphCache &cache,
                          AttentionSizes &sizes) {
  auto fits = [&](const char *what, int64_t mine, const char *key,
                  int64_t declared) {
    if (mine != declared)
      call.emit.fail(call.find("cache")->error(
          "cache '" + cache.name + "' has '" + key + "' " +
          std::to_string(declared) + ", the attention's " + what + " is " +
          std::to_string(mine)));
  };
  auto getWidth = [&](int input) {
    return call.emit.getShape(call.inputs[input]).back().constant().value_or(0);
  };
  // The cache must have the attention's sizes.
  fits("'kv_heads'", sizes.kvHeads, "heads", cache.heads);
  fits("key width of a head", getWidth(1) / sizes.kvHeads, "key", cache.key);
  fits("value width of a head", getWidth(2) / sizes.kvHeads, "value",
       cache.value);
  if (call.has("window"))
    fits("'window'", sizes.window, "window", cache.window);
  // With a cache, attention is causal and takes no mask.
  if (call.has("causal") && !sizes.causal)
    return call.fail("an attention with a cache is causal");
  if (call.inputs.size() == 4)
    return call.fail("an attention with a cache takes no mask",
                     Status::Unsupported);
  // Use the cache settings and declare the cache.
  sizes.causal = true;
  sizes.window = cache.window;
  call.step.hasCache = true;
  return call.emit.cache(call.caches.place + cache.name,
                         attn::CacheType::get(call.emit.ops().getContext(),
                                              cache.heads, cache.key,
                                              cache.value, cache.window));
}

/// Rejects missing or unsupported settings in an attention with keys and values
/// from its own graph.
static bool checkOwnKeys(OpCall &call) {
  if (call.inputs.size() < 3)
    call.fail("op 'attention' expects 3 to 4 inputs, got " +
              std::to_string(call.inputs.size()));
  for (const char *attr :
       {"key_weight", "key_bias", "value_weight", "value_bias"})
    if (std::optional<JsonValue> value = call.find(attr))
      call.emit.fail(
          value->error("'" + std::string(attr) + "' goes with 'cross'"));
  return !call.emit.failed();
}

static Values buildAttention(OpCall &call) {
  if (call.has("cross"))
    return graph::buildCrossAttention(call);
  Emitter &emit = call.emit;
  if (!checkOwnKeys(call))
    return {};
  const GraphCache *cached = call.has("cache") ? findCache(call) : nullptr;
  if (emit.failed())
    return {};

  // With a cache, operands are a decoder's rows.
  size_t rank = cached ? 2 : 3;
  for (size_t i : {0, 1, 2})
    if (!isFloatValue(call.inputs[i]) ||
        emit.getShape(call.inputs[i]).size() != rank)
      return {call.fail(
          cached ? "op 'attention' with a cache expects query, key and value "
                   "as f32 [rows, heads * width]"
                 : "op 'attention' expects query, key and value as f32 [batch, "
                   "seq, heads * width]")};

  AttentionSizes sizes = attentionSizes(call);
  if (emit.failed())
    return {};

  // Build the optional operands.
  Value cache = cached ? cacheOperand(call, *cached, sizes) : Value();
  Value slopes = makeSlopes(call, sizes.heads);
  Value relativeBias = makeRelativeBias(call, sizes.heads);
  Positions positions = makePositions(call, sizes);
  if (emit.failed())
    return {};
  Value mask = call.inputs.size() == 4 ? call.inputs[3] : Value();
  return {emit.make<attn::SdpaOp>(
      call.inputs[0], call.inputs[1], call.inputs[2], mask,
      cached ? call.step.ragged : Value(), cache, slopes, relativeBias,
      positions.keys, positions.queries, uint64_t(sizes.heads),
      uint64_t(sizes.kvHeads), llvm::APFloat(sizes.scale),
      cached ? attn::MaskKind::Ragged : getMaskKind(emit, mask), sizes.causal,
      uint64_t(sizes.window), llvm::APFloat(sizes.cap), FloatAttr(),
      uint64_t(positions.maxDistance))};
}

static Values buildPool(OpCall &call) {
  std::string kind = call.choice("kind", "first");
  Value mask = call.inputs.size() == 2 ? call.inputs[1] : Value();
  if (!isFloatValue(call.inputs[0]) || (mask && !isBoolValue(mask)))
    return {call.fail("op 'pool' expects f32 rows and a bool mask")};
  return {call.emit.make<attn::PoolOp>(call.inputs[0], mask, Value(),
                                       *attn::symbolizePoolKind(kind),
                                       attn::SizeAttr())};
}

static Values buildNeighbors(OpCall &call) {
  Value mask = call.inputs.size() == 2 ? call.inputs[1] : Value();
  if (!isFloatValue(call.inputs[0]) || (mask && !isBoolValue(mask)))
    return {call.fail("op 'neighbors' expects f32 rows and a bool mask")};
  return {call.emit.make<attn::NeighborsOp>(
      call.inputs[0], mask, Value(),
      uint64_t(call.integer("reach", 1, 0, 127)))};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getAttentionOps() {
  return {
      {"attention",
       1,
       4,
       "query, key, value, mask",
       "fb",
       {{"heads", K::Integer, true, "heads of the query"},
        {"kv_heads", K::Integer, false, "heads of key and value; as heads"},
        {"scale", K::Number, false, "1 / sqrt(key width of a head)"},
        {"causal", K::Flag, false, "a query sees keys up to its own place"},
        {"window", K::Integer, false, "and only this many of them"},
        {"soft_cap", K::Number, false, "cap * tanh(score / cap)"},
        {"alibi", K::Flag, false,
         "add slope[head] * (key position - query position)"},
        {"symmetric", K::Flag, false,
         "with alibi: subtract slope[head] * |key position - query position|"},
        {"relative_bias", K::Tensor, false,
         "tensor [buckets, heads]: add the entry of the bucket that key "
         "position - query position falls into, as T5"},
        {"buckets", K::Integer, false, "32; half of them for later keys"},
        {"max_distance", K::Integer, false,
         "128; keys this far away share a bucket"},
        {"position_keys", K::Tensor, false,
         "tensor [positions, heads * dk]: add scale * query . row of the "
         "distance query position - key position, as DeBERTa"},
        {"position_queries", K::Tensor, false,
         "tensor [positions, heads * dk]: add scale * key . row of the same "
         "distance"},
        {"positions", K::Integer, false,
         "with these: rows of the tables, an even number; distance 0 is in the "
         "middle"},
        {"position_distance", K::Integer, false,
         "distances of more than positions / 4 share rows by their logarithm, "
         "so that this one is the first out of reach"},
        {"cache", K::Cache, false,
         "a cache of the body: query, key and value are rows [rows, heads * "
         "width] of a decoder; the keys and values are kept, and each row sees "
         "its sequence up to itself"},
        {"cross",
         K::Choice,
         false,
         "encoder: the query, rows [rows, heads * width] of a decoder and the "
         "one input, attends to the encoder's states of its source, which are "
         "projected once",
         {"encoder"}},
        {"key_weight", K::Tensor, false,
         "with cross: tensor [kv_heads * dk, width of a state]"},
        {"key_bias", K::Tensor, false, "with cross: tensor [kv_heads * dk]"},
        {"value_weight", K::Tensor, false,
         "with cross: tensor [kv_heads * dv, width of a state]"},
        {"value_bias", K::Tensor, false, "with cross: tensor [kv_heads * dv]"}},
       "softmax(scale * Q K^T + mask) V for each head: query [batch, q, "
       "heads*dk], key [batch, k, kv_heads*dk], value [batch, k, kv_heads*dv] "
       "to [batch, q, heads*dv]. mask: bool [batch, k] over keys, or bool or "
       "float that broadcasts to [batch, heads, q, k]; true = attend, float is "
       "added.",
       buildAttention},
      {"neighbors",
       1,
       2,
       "x, mask",
       "fb",
       {{"reach", K::Integer, true, "columns to either side"}},
       "The rows of x [batch, seq, width] of the columns from reach before to "
       "reach after each token, side by side; mask bool [batch, seq] says "
       "which "
       "tokens count, others are zeros.",
       buildNeighbors},
      {"pool",
       1,
       2,
       "x, mask",
       "fb",
       {{"kind",
         K::Choice,
         true,
         "first, last, mean, sum, max, mean_sqrt, weighted_mean or "
         "first_key",
         {"first", "last", "mean", "sum", "max", "mean_sqrt", "weighted_mean",
          "first_key"}}},
       "One row for each sequence of x [batch, seq, width]; mask bool [batch, "
       "seq] says which rows count. first is that of column 0, first_key the "
       "first one that counts; mean_sqrt is the sum of n rows / sqrt(n), "
       "weighted_mean weights each row by its column + 1.",
       buildPool},
  };
}
