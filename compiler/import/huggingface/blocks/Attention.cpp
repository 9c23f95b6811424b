// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Self attention. If the model's own code computes softmax(scale * Q K^T +
// mask) V, the block creates these operations, and a pass fuses them; windows,
// biases by distance, shared keys and a cache are features of `attn.sdpa`,
// which the block then creates itself.
#include "compiler/import/PositionBias.h"
#include "compiler/import/huggingface/blocks/Blocks.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace transom;

/// Returns true if primitive operations can express the attention.
bool AttentionBlock::isPrimitive() const {
  const ModelConfig &config = context.config;
  return context.family.kind == ModelKind::Encoder &&
         config.headNorms == HeadNorms::None && config.ropes.empty() &&
         config.slopes.empty() && !config.relativeBias.entries &&
         !config.relativePositions.any() && config.kvHeads == config.heads &&
         config.attentionCap == 0 &&
         llvm::all_of(config.layers,
                      [](const LayerConfig &l) { return l.window == 0; });
}

//===----------------------------------------------------------------------===//
// Values shared by all layers
//===----------------------------------------------------------------------===//

Value AttentionBlock::ropeTable(Value positions, const Rope &rope,
                                const ConfigKey &key) {
  OpBuilder &ops = context.emit.ops();
  context.at(context.family.modules.rope, key);
  return context.emit.make<attn::RopeTableOp>(
      positions, ops.getDenseF64ArrayAttr(rope.frequencies),
      ops.getF64FloatAttr(rope.factor), ops.getI64IntegerAttr(rope.context));
}

void AttentionBlock::start(Value ids) {
  const ModelConfig &config = context.config;
  const FamilyKeys &keys = context.family.keys;
  Emitter &emit = context.emit;
  if (isPrimitive()) {
    const Dims &tokens = context.tokens;
    keyMask = emit.reshape(context.visible, {tokens[0], 1, 1, tokens[1]});
  }

  // Biases by distance.
  if (!config.slopes.empty())
    slopes =
        emit.weight("alibi.slopes",
                    context.family.kind == ModelKind::Encoder
                        ? symmetricSlopes(config.slopes)
                        : WeightExpr::values({config.heads}, config.slopes));
  if (const RelativeBias &bias = config.relativeBias;
      bias.entries && !config.layers.empty()) {
    const char *module = context.family.modules.relativeBias;
    context.at(module, keys.biasBuckets);
    relativeBias = context.parameters.getDerived(
        module, "weight", {bias.entries, config.heads}, "buckets x heads",
        ".by_distance", [&](WeightExpr file) {
          return relativeBiasByDistance(file, bias.rule);
        });
  }

  // Rope tables, indexed by `LayerConfig::rope`.
  if (config.ropes.empty() || config.ropes[0].frequencies.empty())
    return;
  context.at(context.family.modules.rope, keys.positions);
  Value positions = emit.make<attn::PositionOp>(
      ids, context.ragged, attn::PositionKind::Column, uint64_t(0));
  ropes.push_back(ropeTable(positions, config.ropes[0], keys.theta));
  if (config.ropes.size() > 1)
    ropes.push_back(ropeTable(positions, config.ropes[1], keys.localTheta));
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

static const char *const operandSuffixes[] = {".query", ".key", ".value"};

/// One projection contains the whole query, then key, then value.
Value AttentionBlock::projectStacked(Value state, const std::string &module,
                                     Operand operand) {
  const ModelConfig &config = context.config;
  int64_t query = config.heads * config.headDim;
  int64_t key = config.kvHeads * config.headDim;
  int64_t starts[] = {0, query, query + key};
  return context.projectSlice(state, module, query + 2 * key, starts[operand],
                              operand ? key : query, config.qkvBias,
                              context.getQkvWords(), operandSuffixes[operand]);
}

/// Returns a query or value bias that is stored in the attention module.
Value AttentionBlock::ownBias(const std::string &layer, Operand operand) {
  const FamilyModules &m = context.family.modules;
  const std::string names[] = {m.queryBias, "", m.valueBias};
  if (names[operand].empty())
    return {};
  const ModelConfig &config = context.config;
  int64_t heads = operand == Query ? config.heads : config.kvHeads;
  return context.parameters.get(
      layer + m.attention, names[operand], {heads * config.headDim},
      operand == Query ? context.getQueryWords() : context.getKeyWords());
}

/// One projection is [key heads, query heads per key head + 2, head dim, ...].
Value AttentionBlock::projectByKvHead(Value state, const std::string &layer,
                                      const std::string &module,
                                      Operand operand) {
  const ModelConfig &config = context.config;
  int64_t queries = config.heads / config.kvHeads;
  int64_t all = (queries + 2) * config.kvHeads * config.headDim;
  int64_t first = operand == Query ? 0 : queries + operand - 1;
  int64_t count = operand == Query ? queries : 1;
  auto sliceOperand = [&](WeightExpr file, std::vector<int64_t> inner) {
    std::vector<int64_t> split = {config.kvHeads, queries + 2, config.headDim};
    std::vector<int64_t> joined = {config.kvHeads * count * config.headDim};
    split.insert(split.end(), inner.begin(), inner.end());
    joined.insert(joined.end(), inner.begin(), inner.end());
    return WeightExpr::reshape(
        WeightExpr::slice(WeightExpr::reshape(file, split), 1, first, count),
        joined);
  };
  Parameters &parameters = context.parameters;
  const std::string words = context.getQkvWords();
  Value weight = parameters.getDerived(
      module, "weight", {all, config.hidden}, words + " x hidden size",
      operandSuffixes[operand],
      [&](WeightExpr file) { return sliceOperand(file, {config.hidden}); });
  const char *name = context.getBiasName(module, config.qkvBias);
  Value bias =
      name ? parameters.getDerived(
                 module, name, {all}, words, operandSuffixes[operand],
                 [&](WeightExpr file) { return sliceOperand(file, {}); })
           : ownBias(layer, operand);
  return context.emit.linear(state, weight, bias);
}

/// Returns query, key or value: [tokens, heads * head dim].
Value AttentionBlock::projectOperand(Value state, const std::string &layer,
                                     Operand operand) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  const char *modules[] = {m.query, m.key, m.value};
  bool separate = context.family.qkv == QkvLayout::Separate;
  const std::string module = layer + (separate ? modules[operand] : m.qkv);
  context.at(module, context.family.keys.hidden);
  if (context.family.qkv == QkvLayout::Stacked)
    return projectStacked(state, module, operand);
  if (context.family.qkv == QkvLayout::ByKvHead)
    return projectByKvHead(state, layer, module, operand);
  int64_t heads = operand == Query ? config.heads : config.kvHeads;
  return context.project(state, module, heads * config.headDim, config.qkvBias,
                         operand == Query ? context.getQueryWords()
                                          : context.getKeyWords());
}

/// Returns the weights for all heads, [heads * head dim]: from one module per
/// head, or one tensor [heads, head dim].
WeightExpr AttentionBlock::headWeights(const std::string &module,
                                       int64_t count) {
  const int64_t width = context.config.headDim;
  const Parameters &parameters = context.parameters;
  auto read = [&](const std::string &of, std::vector<int64_t> shape) {
    const std::string tensor = parameters.getTensorName(of, "weight");
    context.emit.checkTensor(tensor, shape, "heads x head size");
    return WeightExpr::file(tensor);
  };
  size_t place = module.find("{head}");
  if (place == std::string::npos)
    return WeightExpr::reshape(read(module, {count, width}), {count * width});
  std::vector<WeightExpr> weights;
  for (int64_t i = 0; i < count; ++i) {
    std::string own = module;
    weights.push_back(read(own.replace(place, 6, std::to_string(i)), {width}));
  }
  return WeightExpr::concat(0, std::move(weights));
}

/// Norms with weights for each head: a norm without weights, then a
/// multiplication.
Value AttentionBlock::normalizeEachHead(Value heads, const std::string &module,
                                        int64_t count) {
  const ModelConfig &config = context.config;
  Emitter &emit = context.emit;
  const std::string name = context.parameters.getModulePath(module);
  Value ones =
      emit.weight(name + ".ones", WeightExpr::fill({config.headDim}, 1));
  Value split = emit.reshape(heads, context.tokensBy({count, config.headDim}));
  Value even =
      emit.reshape(emit.layerNorm(split, ones, Value(), config.epsilon),
                   context.tokensBy({count * config.headDim}));
  WeightExpr weights = headWeights(module, count);
  if (emit.failed())
    return {};
  return emit.make<attn::MulOp>(even, emit.weight(name + ".weight", weights));
}

/// Applies query or key norms, [tokens, heads * head dim].
Value AttentionBlock::normalizeHeads(Value heads, const std::string &module,
                                     int64_t count) {
  const ModelConfig &config = context.config;
  context.at(module, context.family.keys.epsilon);
  switch (config.headNorms) {
  case HeadNorms::None:
    return heads;
  case HeadNorms::Joint:
    return context.normalize(heads, module);
  case HeadNorms::Own:
    return normalizeEachHead(heads, module, count);
  case HeadNorms::Shared:
    break;
  }
  Value split =
      context.emit.reshape(heads, context.tokensBy({count, config.headDim}));
  return context.emit.reshape(context.normalize(split, module),
                              context.tokensBy({count * config.headDim}));
}

/// Applies head norms, if the model has them, then rope, which rotates element
/// i of a head with element i + d/2 (the halves in `rotate_half`) or with its
/// neighbor.
Value AttentionBlock::applyPosition(Value heads, int64_t number,
                                    Operand operand) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  const std::string layer = context.layerPrefix(number);
  const std::string norm = layer + (operand == Query ? m.queryNorm : m.keyNorm);
  int64_t count = operand == Query ? config.heads : config.kvHeads;
  if (config.headNorms != HeadNorms::None)
    heads = normalizeHeads(heads, norm, count);
  std::optional<size_t> rope = config.layers[number].rope;
  if (ropes.empty() || !rope)
    return heads;
  context.at(layer + m.attention, *rope ? context.family.keys.localTheta
                                        : context.family.keys.theta);
  return context.emit.make<attn::RopeOp>(heads, ropes[*rope], uint64_t(count),
                                         config.interleavedRope);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value AttentionBlock::splitHeads(Value projected) {
  const ModelConfig &config = context.config;
  Value split = context.emit.reshape(
      projected, context.tokensBy({config.heads, config.headDim}));
  return context.emit.transpose(split, {0, 2, 1, 3});
}

/// softmax(scale * Q K^T + mask) V, with the same operations as the model's own
/// code.
Value AttentionBlock::primitive(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  Emitter &emit = context.emit;
  const std::string layer = context.layerPrefix(number);
  auto heads = [&](Operand operand) {
    Value projected = projectOperand(state, layer, operand);
    context.at(layer + m.attention, context.family.keys.heads);
    return splitHeads(projected);
  };
  Value query = heads(Query), key = heads(Key), value = heads(Values);
  Value scores = emit.scale(emit.matmul(query, key, false, true),
                            config.layers[number].scale);
  scores = emit.mask(scores, keyMask, -std::numeric_limits<double>::infinity());
  Value mixed = emit.matmul(emit.softmax(scores), value, false, false);
  return emit.reshape(emit.transpose(mixed, {0, 2, 1, 3}),
                      context.tokensBy({config.heads * config.headDim}));
}

/// Returns a parameter with this shape as an expression.
WeightExpr AttentionBlock::read(const std::string &module, const char *name,
                                std::vector<int64_t> shape,
                                const std::string &sizes) {
  const std::string tensor = context.parameters.getTensorName(module, name);
  context.emit.checkTensor(tensor, shape, sizes);
  return WeightExpr::file(tensor);
}

/// Returns relative position keys or queries, [heads * positions, head dim],
/// computed from weights only.
Value AttentionBlock::projectPositions(const std::string &layer,
                                       Operand operand) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  const RelativePositions &relative = config.relativePositions;
  const int64_t positions = relative.rule.positions, hidden = config.hidden,
                heads = config.heads, width = config.headDim;
  // Read the table and apply its norm.
  const std::string table = m.relativePositions;
  context.at(table, context.family.keys.positionDistance);
  WeightExpr rows =
      read(table, "weight", {positions, hidden}, "buckets x hidden size");
  if (relative.normalized) {
    const std::string norm = m.relativePositionNorm;
    rows = WeightExpr::layerNorm(
        rows, read(norm, "weight", {hidden}, "hidden size"),
        read(norm, "bias", {hidden}, "hidden size"), config.epsilon);
  }

  // Select the projection: the token projection if shared, otherwise a separate
  // one.
  const bool isKey = operand == Key;
  const std::string module =
      layer + (relative.shared ? (isKey ? m.key : m.query)
                               : (isKey ? m.positionKey : m.positionQuery));
  const bool hasBias = relative.shared ? config.qkvBias
                       : isKey         ? context.family.positionKeyBias
                                       : true;
  // Project the table.
  context.at(module, context.family.keys.positionScores);
  WeightExpr projected = WeightExpr::matmul(
      rows,
      WeightExpr::transpose(read(module, "weight", {heads * width, hidden},
                                 context.getQueryWords() + " x hidden size"),
                            {1, 0}));
  if (hasBias)
    projected = WeightExpr::add(projected, read(module, "bias", {heads * width},
                                                context.getQueryWords()));
  if (context.emit.failed())
    return {};
  return context.emit.weight(
      context.parameters.getModulePath(module) + ".positions",
      positionsByHead(projected, positions, heads, width));
}

Value AttentionBlock::fused(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  const LayerConfig &own = config.layers[number];
  Emitter &emit = context.emit;
  const std::string layer = context.layerPrefix(number);
  Value query = projectOperand(state, layer, Query);
  Value key = projectOperand(state, layer, Key);
  Value value = projectOperand(state, layer, Values);
  query = applyPosition(query, number, Query);
  key = applyPosition(key, number, Key);
  const RelativePositions &relative = config.relativePositions;
  Value positionKeys, positionQueries;
  if (relative.any() && relative.toPosition)
    positionKeys = projectPositions(layer, Key);
  if (relative.any() && relative.fromPosition)
    positionQueries = projectPositions(layer, Query);

  // A decoder's step reads keys and values back from its cache.
  context.at(layer + m.attention, context.family.keys.heads);
  bool steps = static_cast<bool>(context.ragged);
  Value cache;
  if (steps)
    cache = emit.cache(context.parameters.getModulePath(layer + m.attention),
                       attn::CacheType::get(emit.ops().getContext(),
                                            config.kvHeads, config.headDim,
                                            config.headDim, own.window));
  return emit.make<attn::SdpaOp>(
      query, key, value, context.visible, context.ragged, cache, slopes,
      relativeBias, positionKeys, positionQueries, uint64_t(config.heads),
      uint64_t(config.kvHeads), llvm::APFloat(own.scale),
      steps ? attn::MaskKind::Ragged : attn::MaskKind::Keys,
      /*causal=*/context.family.kind == ModelKind::Decoder,
      uint64_t(own.window), llvm::APFloat(config.attentionCap), FloatAttr(),
      relative.any() ? uint64_t(relative.rule.maxDistance) : 0);
}

Value AttentionBlock::build(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  Value mixed = isPrimitive() ? primitive(state, number) : fused(state, number);
  const std::string output = context.layerPrefix(number) + m.output;
  context.at(output, context.family.keys.hidden);
  return context.project(mixed, output, context.config.hidden,
                         context.config.outputBias, "hidden size",
                         context.getQueryWords());
}
