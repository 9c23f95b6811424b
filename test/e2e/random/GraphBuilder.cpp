// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One random entry: its inputs, its blocks and its results.
#include "test/e2e/random/GraphBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace transom::testing {

using namespace attn;

/// One graph in three has a quirk, in all its attentions.
GraphBuilder::Quirk GraphBuilder::drawQuirk(uint64_t seed) {
  Random random(seed ^ 0x0dd);
  return seed % 3 == 2 ? static_cast<Quirk>(random.between(
                             1, static_cast<int64_t>(Quirk::FiniteTriangle)))
                       : Quirk::None;
}

GraphBuilder::GraphBuilder(ModuleOp module, uint64_t seed,
                           RandomWeights &weights, GraphKind kind)
    : module(module), random(seed), graphKind(kind), quirk(drawQuirk(seed)),
      name("g" + std::to_string(seed)), weights(weights),
      builder(module.getContext()) {
  chooseSizes(seed);
}

//===----------------------------------------------------------------------===//
// Making operations
//===----------------------------------------------------------------------===//

Location GraphBuilder::location() {
  return makeLocation(module.getContext(), name + "." + blockName,
                      "random.json", "/nodes/" + std::to_string(nodes++));
}

Value GraphBuilder::input(const std::string &inputName,
                          ArrayRef<Polynomial> dims, Type element,
                          StringRef role, std::vector<NamedAttribute> more) {
  more.push_back(
      builder.getNamedAttr("attn.name", builder.getStringAttr(inputName)));
  more.push_back(
      builder.getNamedAttr("attn.role", builder.getStringAttr(role)));
  arguments.push_back(builder.getDictionaryAttr(more));
  return body->addArgument(getTensorType(dims, element), location());
}

/// `[2, 3]`.
static std::string getList(ArrayRef<int64_t> values) {
  std::string text = "[";
  for (int64_t value : values)
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

Value GraphBuilder::weight(std::vector<int64_t> shape, double range) {
  std::string tensor = name + ".w" + std::to_string(tensors++);
  std::string expr = "file(\"" + tensor + "\")";
  std::vector<int64_t> stored = shape;
  if (shape.size() == 2 && random.chance(20)) {
    stored = {shape[1], shape[0]};
    expr = "transpose(" + expr + ", [1, 0])";
  } else if (random.chance(10)) {
    stored = {getNumElements(shape)};
    expr = "reshape(" + expr + ", " + getList(shape) + ")";
  }
  weights.add(tensor, stored, range);
  return addWeight(tensor, *WeightExpr::parse(expr));
}

Value GraphBuilder::weight(const WeightExpr &expr) {
  return addWeight(name + ".w" + std::to_string(tensors++), expr);
}

Value GraphBuilder::addWeight(const std::string &symbol,
                              const WeightExpr &expr) {
  auto type = RankedTensorType::get(*expr.shape(weights), builder.getF32Type());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  builder.create<WeightOp>(location(), symbol, type, expr);
  builder.setInsertionPointToEnd(body);
  return builder.create<GetWeightOp>(location(), type, symbol);
}

Value GraphBuilder::gains(int64_t size) {
  std::string tensor = name + ".w" + std::to_string(tensors++);
  weights.add(tensor, {size}, 0.3);
  return addWeight(tensor,
                   *WeightExpr::parse("add(fill([" + std::to_string(size) +
                                      "], 1.0), file(\"" + tensor + "\"))"));
}

Value GraphBuilder::constant(double value) {
  auto type = RankedTensorType::get({1}, builder.getF32Type());
  return builder.create<ConstantOp>(
      location(), type,
      DenseElementsAttr::get(type, {static_cast<float>(value)}));
}

Value GraphBuilder::reshape(Value x, ArrayRef<Polynomial> dims) {
  return make<ReshapeOp>(x, ShapeAttr::get(module.getContext(), dims));
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return make<TransposeOp>(x, permutation);
}

Value GraphBuilder::scale(Value x, double factor, double offset) {
  return make<ScaleOp>(x, number(factor), number(offset));
}

Value GraphBuilder::slice(Value x, int64_t axis, int64_t start,
                          const Polynomial &size) {
  return make<SliceOp>(x, axis, start,
                       SizeAttr::get(builder.getContext(), size));
}

Value GraphBuilder::linear(Value x, int64_t size, bool bias) {
  int64_t from = *getSymbolicShape(x.getType()).back().constant();
  Value w = weight({size, from}, 1.7 / std::sqrt(double(from)));
  return make<LinearOp>(x, w, bias ? weight({size}, 0.3) : Value());
}

Value GraphBuilder::cast(Value x, Type to) { return make<CastOp>(x, to); }

Value GraphBuilder::maskTo(ArrayRef<Polynomial> dims) {
  return reshape(cast(mask, builder.getI1Type()), dims);
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

/// Widths, equal for neighbouring seeds, since models that are compiled
/// together then share kernels.
void GraphBuilder::chooseSizes(uint64_t seed) {
  Random sizes(seed / seedsOfOneSize + 77);
  width = sizes.pick<int64_t>({4, 6, 8, 12, 16, 18, 20, 32, 33, 40, 50, 61});
  inner = sizes.chance(50) ? 8 * sizes.between(1, 6) : sizes.between(1, 48);
  headCount = sizes.between(2, 4);
  keyWidth = sizes.chance(70) ? sizes.between(1, 9) : sizes.between(10, 36);
  valueWidth = sizes.chance(70) ? sizes.between(1, 9) : sizes.between(10, 36);
  if (graphKind == GraphKind::Tiles) {
    width = sizes.pick<int64_t>({32, 64, 96});
    inner = 32 * sizes.between(1, 3);
    headCount = sizes.pick<int64_t>({2, 4});
    keyWidth = valueWidth = 32 / headCount * sizes.between(1, 2);
  }
}

void GraphBuilder::declareInputs() {
  // Three graphs in ten have all inputs that ragged rows require.
  const bool isPadded = random.chance(graphKind == GraphKind::Positions   ? 70
                                      : graphKind == GraphKind::Pipelines ? 80
                                                                          : 30);
  batch = isPadded || random.chance(60) ? Polynomial::symbol("batch")
                                        : Polynomial(random.between(1, 3));
  seq = isPadded || random.chance(60) ? Polynomial::symbol("seq")
                                      : Polynomial(random.between(1, 8));
  memoryLength = random.chance(50) ? Polynomial::symbol("memory")
                                   : Polynomial(random.between(1, 6));
  Type f32 = builder.getF32Type(), i64 = builder.getI64Type();
  auto integer = [&](StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
  };
  if (random.chance(50))
    ids = input("input_ids", {batch, seq}, i64, "ids",
                {integer("attn.bound", 11)});
  if (isPadded || random.chance(65)) {
    std::vector<NamedAttribute> more;
    if (random.chance(50))
      more.push_back(integer("attn.default", 1));
    if (ids)
      more.push_back(builder.getNamedAttr("attn.mask_of",
                                          builder.getStringAttr("input_ids")));
    mask = input("attention_mask", {batch, seq}, i64, "mask", more);
  }
  if (!isPadded && random.chance(25))
    memory = input("memory", {batch, memoryLength, width}, f32, "data");
  if (!isPadded && random.chance(15))
    bias = input("bias",
                 random.chance(50) ? Dims{seq, seq}
                                   : Dims{batch, Polynomial(1), seq, seq},
                 f32, "data");
  if (graphKind == GraphKind::Pipelines && random.chance(20))
    declareOwnMask();
}

/// The first state: an embedding sum, or an input.
Value GraphBuilder::embed() {
  if (!ids)
    return input("x", {batch, seq, Polynomial(width)}, builder.getF32Type(),
                 "data");
  double factor = random.chance(20) ? 2.0 : 1.0;
  Value x = make<EmbeddingOp>(ids, weight({11, width}, 1.0), number(factor));
  // Vector tables have a factor for each token.
  if (graphKind == GraphKind::Pipelines && random.chance(20))
    x = make<MulOp>(x,
                    make<EmbeddingOp>(ids, weight({11, 1}, 1.0), number(1.0)));
  if (random.chance(70)) {
    bool rank = random.chance(40);
    Value position = make<PositionOp>(
        ids, Value(), rank ? PositionKind::NonpadRank : PositionKind::Column,
        rank ? random.between(0, 2) : 0);
    x = make<AddOp>(
        x, make<EmbeddingOp>(position, weight({610, width}, 1.0), number(1.0)));
  }
  return random.chance(70) ? norm(x) : x;
}

/// In such a model half the blocks are attentions.
Value GraphBuilder::positionBlock(Value x) {
  switch (random.below(4)) {
  case 0:
    return convolve(x);
  case 1:
    return feedForward(x);
  default:
    return attention(x);
  }
}

Value GraphBuilder::block(Value x) {
  if (graphKind == GraphKind::Positions)
    return positionBlock(x);
  switch (random.below(10)) {
  case 0:
  case 1:
    return feedForward(x);
  case 9:
    return random.chance(60) ? columns(x) : convolve(x);
  case 2:
    return elementwise(x);
  case 3:
    return mask ? logic(x) : elementwise(x);
  case 4:
    return width % 2 ? elementwise(x) : shuffle(x); // it moves halves
  case 5:
    return random.chance(50) ? mixRows(x) : lookUp(x);
  default:
    return attention(x);
  }
}

/// The results: the state, sometimes pooled or headed, with padding at zero.
void GraphBuilder::finish(Value x) {
  // Collect the results with their names.
  blockName = "head";
  SmallVector<Value> results;
  SmallVector<std::string> names;
  auto add = [&](Value value, const std::string &resultName) {
    results.push_back(value);
    names.push_back(resultName);
  };
  // The first result: a pipeline's output, or pooled states.
  if (graphKind == GraphKind::Pipelines) {
    auto [resultName, value] = endPipeline(x);
    add(value, resultName);
  } else if (graphKind == GraphKind::Positions || random.chance(40)) {
    auto pool = static_cast<PoolKind>(
        random.below(attn::getMaxEnumValForPoolKind() + 1));
    Value keys = mask && random.chance(70) ? maskTo({batch, seq}) : Value();
    Value pooled = make<PoolOp>(x, keys, Value(), pool, SizeAttr());
    add(make<ActivationOp>(linear(pooled, 1 + inner % 5, true),
                           Activation::Tanh),
        "pooled");
  }
  // Sometimes a state inside the model and the last states are results, too.
  if (middle) {
    Value shown = linear(middle, 3, true);
    if (mask)
      shown = make<attn::MaskOp>(shown, maskTo({batch, seq, Polynomial(1)}),
                                 number(0.0));
    add(shown, "middle");
  }
  const bool isPipeline = graphKind == GraphKind::Pipelines;
  if (results.empty() || random.chance(isPipeline ? 10 : 70)) {
    if (random.chance(30))
      x = linear(x, 1 + inner % 37, random.chance(50));
    if (mask)
      x = make<attn::MaskOp>(x, maskTo({batch, seq, Polynomial(1)}),
                             number(0.0));
    add(x, "hidden");
  }
  // Set the function type and the attributes now that all are known.
  builder.create<func::ReturnOp>(location(), results);
  SmallVector<DictionaryAttr> attributes;
  for (const std::string &resultName : names)
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("attn.name", builder.getStringAttr(resultName))));
  function.setType(builder.getFunctionType(body->getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(attributes);
}

/// Consecutive blocks, some repeated: a repeated layer makes the same choices
/// with other weights.
void GraphBuilder::build() {
  builder.setInsertionPointToEnd(module.getBody());
  blockName = "entry";
  function = builder.create<func::FuncOp>(location(), name,
                                          builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  declareInputs();
  blockName = "embeddings";
  Value x = embedded = embed();
  int64_t layers = random.chance(40) ? random.between(2, 4) : 1;
  const bool isPipeline = graphKind == GraphKind::Pipelines;
  int64_t blocks = isPipeline ? random.between(0, 2) : random.between(1, 3);
  scalesByLayer = random.chance(25);
  const bool skips = random.chance(10);
  // The result position: rarely in the middle of the layers.
  const int64_t shown = random.chance(10) && blocks
                            ? random.below(layers * blocks)
                            : layers * blocks;
  Random start = random;
  for (layer = 0; layer < layers; ++layer) {
    random = start;
    for (int64_t i = 0; i < blocks; ++i) {
      blockName =
          "layer." + std::to_string(layer) + ".block" + std::to_string(i);
      x = block(x);
      if (layer * blocks + i == shown)
        middle = x;
    }
    if (skips)
      x = make<AddOp>(x, embedded);
  }
  finish(x);
}

} // namespace transom::testing
