// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features are drawn first, then layers are written from them.
#include "test/e2e/random/RandomDecoder.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace transom::attn;

namespace transom::testing {

namespace {

/// Positions that a decoder can tell apart.
constexpr int64_t longest = 600;

/// What one decoder is made of.
struct Features {
  explicit Features(Random &random);

  enum Positions { None, Learned, Rope, Slopes };

  int64_t vocabulary, width, inner, layers;
  int64_t heads, kvHeads, dk, dv;
  Positions positions;
  int64_t pairs = 0; ///< of numbers that are turned
  bool interleaved;
  int64_t window = 0; ///< 0: none
  bool alternates;    ///< the window is in every second layer
  double cap, logitCap, embeddingScale;
  bool rms, headNorms, postNorms, parallel, gated, bias, tied;
  bool innerNorm; ///< in front of the last product of an MLP
  bool straight;  ///< an MLP without that product
  Activation activation;
};

Features::Features(Random &random) {
  kvHeads = random.between(1, 3);
  heads = kvHeads * random.between(1, 3);
  dk = random.chance(70) ? 2 * random.between(1, 20) : random.between(1, 35);
  dv = random.chance(80) ? dk : random.between(1, 40);
  width = random.chance(50) ? 8 * random.between(1, 6) : random.between(3, 50);
  inner = random.chance(60) ? 8 * random.between(1, 10) : random.between(2, 70);
  vocabulary = random.between(2, 100);
  layers = random.between(1, 4);
  positions = random.pick({None, Learned, Rope, Rope, Slopes});
  if (positions == Rope && dk < 2)
    positions = None;
  if (positions == Rope)
    pairs = random.chance(60) ? dk / 2 : random.between(1, dk / 2);
  interleaved = random.chance(30);
  if (random.chance(40))
    window = random.chance(80) ? random.between(1, 20) : 260;
  alternates = random.chance(50);
  cap = random.chance(25) ? 3.0 : 0.0;
  logitCap = random.chance(20) ? 5.0 : 0.0;
  embeddingScale = random.chance(25) ? 2.5 : 1.0;
  rms = random.chance(50);
  headNorms = random.chance(25);
  postNorms = random.chance(25);
  parallel = random.chance(25);
  gated = random.chance(50);
  bias = random.chance(50);
  tied = random.chance(40);
  activation = random.pick({Activation::Silu, Activation::Gelu,
                            Activation::GeluTanh, Activation::Relu});
  innerNorm = random.chance(20);
  straight = random.chance(15);
}

/// Writes one decoder.
class DecoderBuilder {
public:
  DecoderBuilder(ModuleOp module, uint64_t seed, RandomWeights &weights)
      : module(module), random(seed), has(random), weights(weights),
        builder(module.getContext()) {}

  void build();

private:
  Location location() {
    return makeLocation(module.getContext(), path, "random.json",
                        "/nodes/" + std::to_string(nodes++));
  }
  /// An operation with one result, whose type its shape rule gives.
  template <typename OpT, typename... Args> Value make(Args &&...args) {
    auto op = builder.create<OpT>(location(),
                                  UnrankedTensorType::get(builder.getF32Type()),
                                  std::forward<Args>(args)...);
    auto types = op.inferShapes([&]() { return op.emitOpError(); });
    assert(succeeded(types) && "the generator makes valid decoders");
    op->getResult(0).setType(types->front());
    return op->getResult(0);
  }
  FloatAttr real(double value) { return builder.getF64FloatAttr(value); }
  IntegerAttr whole(int64_t value) { return builder.getI64IntegerAttr(value); }
  /// A weight with elements in [-range, range], plus `offset`.
  Value weight(std::vector<int64_t> shape, double range, double offset = 0);
  Value linear(Value x, int64_t width);
  Value norm(Value x);
  Value headNorm(Value x, int64_t heads);
  Value rotate(Value x, int64_t heads);
  Value attention(Value x, int64_t layer);
  Value feedForward(Value x);
  Value layer(Value x, int64_t index);
  Value head(Value x);

  ModuleOp module;
  Random random;
  const Features has;
  RandomWeights &weights;
  OpBuilder builder;
  func::FuncOp function;
  Value ragged, ropeTable, slopes, table;
  std::string path = "embeddings";
  int nodes = 0, tensors = 0;
};

Value DecoderBuilder::weight(std::vector<int64_t> shape, double range,
                             double offset) {
  std::string name = "w" + std::to_string(tensors++);
  std::string expr = "file(\"" + name + "\")";
  weights.add(name, shape, range);
  if (offset != 0)
    expr = "add(fill([" + std::to_string(shape[0]) + "], 1.0), " + expr + ")";
  auto type = RankedTensorType::get(shape, builder.getF32Type());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  builder.create<WeightOp>(location(), name, type, *WeightExpr::parse(expr));
  builder.setInsertionPointToEnd(&function.getBody().front());
  return builder.create<GetWeightOp>(location(), type, name);
}

Value DecoderBuilder::linear(Value x, int64_t width) {
  int64_t from = *getSymbolicShape(x.getType()).back().constant();
  Value w = weight({width, from}, 1.7 / std::sqrt(double(from)));
  return make<LinearOp>(x, w, has.bias ? weight({width}, 0.3) : Value());
}

Value DecoderBuilder::norm(Value x) {
  int64_t size = *getSymbolicShape(x.getType()).back().constant();
  Value gamma = weight({size}, 0.3, 1);
  if (has.rms)
    return make<RmsNormOp>(x, gamma, real(1e-5));
  return make<LayerNormOp>(x, gamma, has.bias ? weight({size}, 0.3) : Value(),
                           real(1e-5));
}

Value DecoderBuilder::headNorm(Value x, int64_t heads) {
  SmallVector<Polynomial> dims = getSymbolicShape(x.getType());
  SmallVector<Polynomial> split = {dims[0], Polynomial(heads),
                                   Polynomial(has.dk)};
  Value y = make<ReshapeOp>(x, ShapeAttr::get(module.getContext(), split));
  y = make<RmsNormOp>(y, weight({has.dk}, 0.3, 1), real(1e-5));
  return make<ReshapeOp>(y, ShapeAttr::get(module.getContext(), dims));
}

Value DecoderBuilder::rotate(Value x, int64_t heads) {
  if (has.headNorms)
    x = headNorm(x, heads);
  if (!ropeTable)
    return x;
  return make<RopeOp>(x, ropeTable, whole(heads),
                      has.interleaved ? builder.getUnitAttr() : UnitAttr());
}

Value DecoderBuilder::attention(Value x, int64_t layer) {
  int64_t window = has.alternates && layer % 2 == 1 ? 0 : has.window;
  std::string name = "layers." + std::to_string(layer) + ".attention";
  auto type =
      CacheType::get(module.getContext(), has.kvHeads, has.dk, has.dv, window);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    builder.create<CacheOp>(location(), name, type);
  }
  Value query = rotate(linear(x, has.heads * has.dk), has.heads);
  Value key = rotate(linear(x, has.kvHeads * has.dk), has.kvHeads);
  Value value = linear(x, has.kvHeads * has.dv);
  Value cache = builder.create<GetCacheOp>(location(), type, name);
  Value result = make<SdpaOp>(
      query, key, value, Value(), ragged, cache, slopes, Value(),
      whole(has.heads), whole(has.kvHeads), real(1 / std::sqrt(double(has.dk))),
      MaskKindAttr::get(module.getContext(), MaskKind::Ragged),
      builder.getUnitAttr(), whole(window), real(has.cap), FloatAttr());
  return linear(result, has.width);
}

Value DecoderBuilder::feedForward(Value x) {
  int64_t inner = has.straight ? has.width : has.inner;
  Value y = make<ActivationOp>(
      linear(x, inner),
      ActivationAttr::get(module.getContext(), has.activation));
  if (has.gated)
    y = make<MulOp>(y, linear(x, inner));
  if (has.innerNorm)
    y = norm(y);
  return has.straight ? y : linear(y, has.width);
}

Value DecoderBuilder::layer(Value x, int64_t index) {
  path = "layers." + std::to_string(index);
  auto postNorm = [&](Value y) { return has.postNorms ? norm(y) : y; };
  if (has.parallel) {
    Value a = attention(norm(x), index), m = feedForward(norm(x));
    return make<AddOp>(make<AddOp>(a, m), x);
  }
  x = make<AddOp>(postNorm(attention(norm(x), index)), x);
  return make<AddOp>(x, postNorm(feedForward(norm(x))));
}

Value DecoderBuilder::head(Value x) {
  path = "head";
  Value weights = has.tied ? table : weight({has.vocabulary, has.width}, 0.5);
  Value logits = make<LinearOp>(norm(x), weights, Value());
  if (has.logitCap == 0)
    return logits;
  logits = make<ScaleOp>(logits, real(1 / has.logitCap), real(0));
  logits = make<ActivationOp>(
      logits, ActivationAttr::get(module.getContext(), Activation::Tanh));
  return make<ScaleOp>(logits, real(has.logitCap), real(0));
}

void DecoderBuilder::build() {
  MLIRContext *context = module.getContext();
  auto vector = [&](const char *symbol) {
    return getTensorType({Polynomial::symbol(symbol)}, builder.getI64Type());
  };
  Type result =
      getTensorType({Polynomial::symbol("wanted"), Polynomial(has.vocabulary)},
                    builder.getF32Type());
  builder.setInsertionPointToEnd(module.getBody());
  function = builder.create<func::FuncOp>(
      location(), "step",
      FunctionType::get(context, {vector("rows"), vector("wanted")}, result));
  Block *body = function.addEntryBlock();
  auto name = [&](const char *text) { return builder.getStringAttr(text); };
  function.setArgAttr(0, "attn.name", name("tokens"));
  function.setArgAttr(0, "attn.role", name("ids"));
  function.setArgAttr(0, "attn.bound", whole(has.vocabulary));
  function.setArgAttr(1, "attn.name", name("wanted"));
  function.setArgAttr(1, "attn.role", name("data"));
  function.setResultAttr(0, "attn.name", name("logits"));
  function->setAttr("transom.vocabulary", whole(has.vocabulary));
  if (has.positions == Features::Learned || has.positions == Features::Rope)
    function->setAttr("transom.context", whole(longest));

  builder.setInsertionPointToEnd(body);
  Value tokens = body->getArgument(0);
  ragged = builder.create<DecodeBatchOp>(
      location(), RaggedType::get(context, name("rows"), name("keys")));
  table = weight({has.vocabulary, has.width}, 1);
  Value x = make<EmbeddingOp>(tokens, table, real(has.embeddingScale));
  Value positions = make<PositionOp>(
      tokens, ragged, PositionKindAttr::get(context, PositionKind::Column),
      whole(0));
  if (has.positions == Features::Learned)
    x = make<AddOp>(
        x,
        make<EmbeddingOp>(positions, weight({longest, has.width}, 1), real(1)));
  if (has.positions == Features::Rope) {
    std::vector<double> frequencies;
    for (int64_t i = 0; i < has.pairs; ++i)
      frequencies.push_back(std::pow(50.0, -double(i) / has.pairs));
    ropeTable =
        make<RopeTableOp>(positions, builder.getDenseF64ArrayAttr(frequencies),
                          real(random.chance(20) ? 1.25 : 1.0), whole(longest));
  }
  if (has.positions == Features::Slopes)
    slopes = weight({has.heads}, 0.5);
  for (int64_t i = 0; i < has.layers; ++i)
    x = layer(x, i);
  Value logits = head(make<GatherOp>(x, body->getArgument(1)));
  builder.create<func::ReturnOp>(location(), logits);
}

} // namespace

OwningOpRef<ModuleOp> makeRandomDecoder(MLIRContext *context, uint64_t seed,
                                        RandomWeights &weights) {
  OwningOpRef<ModuleOp> module = makeRandomModule(context);
  Builder builder(context);
  Attribute unbounded = builder.getDictionaryAttr(
      builder.getNamedAttr("max", builder.getI64IntegerAttr(-1)));
  std::vector<NamedAttribute> symbols;
  for (StringRef symbol : {"keys", "rows", "wanted"})
    symbols.push_back(builder.getNamedAttr(symbol, unbounded));
  (*module)->setAttr("attn.symbols", builder.getDictionaryAttr(symbols));
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  (*module)->setAttr("attn.info",
                     builder.getDictionaryAttr({text("family", "graph"),
                                                text("architecture", "random"),
                                                text("head", "causal_lm")}));
  DecoderBuilder(*module, seed, weights).build();
  return module;
}

int64_t getVocabulary(ModuleOp decoder) {
  return decoder.lookupSymbol("step")
      ->getAttrOfType<IntegerAttr>("transom.vocabulary")
      .getInt();
}

std::vector<std::vector<int64_t>> randomSequences(Random &random,
                                                  int64_t vocabulary) {
  std::vector<std::vector<int64_t>> sequences(random.between(1, 4));
  for (std::vector<int64_t> &tokens : sequences) {
    int64_t kind = random.below(100);
    tokens.resize(kind < 60   ? random.between(1, 12)
                  : kind < 90 ? random.between(20, 50)
                              : random.between(250, 300));
    for (int64_t &token : tokens)
      token = random.below(vocabulary);
  }
  return sequences;
}

} // namespace transom::testing
