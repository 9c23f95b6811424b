// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features are drawn first, then layers are built from them. An encoder-decoder
// has two more entries: `encode`, an encoder, and `source`, which fills the
// encoder key and value caches.
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

/// Max positions that a decoder distinguishes, and max source tokens.
constexpr int64_t longest = 600, longestSource = 40;

/// The features in one decoder.
struct Features {
  Features(Random &random, DecoderKind kind);

  enum Positions { None, Learned, Rope, Slopes };

  int64_t vocabulary, width, inner, layers;
  int64_t heads, kvHeads, dk, dv;
  Positions positions;
  int64_t pairs = 0; ///< rotated element pairs
  bool interleaved;
  int64_t window = 0; ///< 0: none
  bool alternates;    ///< the window is in every second layer
  double cap, logitCap, embeddingScale;
  bool rms, headNorms, postNorms, parallel, gated, bias, tied;
  bool innerNorm; ///< before the last GEMM in an MLP
  bool straight;  ///< an MLP without that product
  Activation activation;
  bool readsSource; ///< by attention to an encoder's states
  bool sourceBias = false, sourceNorm = false;
  int64_t encoderLayers = 0;
};

Features::Features(Random &random, DecoderKind kind)
    : readsSource(kind == DecoderKind::EncoderDecoder) {
  // Head counts and widths; widths are often multiples that kernels prefer.
  kvHeads = random.between(1, 3);
  heads = kvHeads * random.between(1, 3);
  dk = random.chance(70) ? 2 * random.between(1, 20) : random.between(1, 35);
  dv = random.chance(80) ? dk : random.between(1, 40);
  width = random.chance(50) ? 8 * random.between(1, 6) : random.between(3, 50);
  inner = random.chance(60) ? 8 * random.between(1, 10) : random.between(2, 70);
  vocabulary = random.between(2, 100);
  layers = random.between(1, 4);
  // Positions and the attention window.
  positions = random.pick({None, Learned, Rope, Rope, Slopes});
  if (positions == Rope && dk < 2)
    positions = None;
  if (positions == Rope)
    pairs = random.chance(60) ? dk / 2 : random.between(1, dk / 2);
  interleaved = random.chance(30);
  if (random.chance(40))
    window = random.chance(80) ? random.between(1, 20) : 260;
  alternates = random.chance(50);
  // Scales, caps, norms and the block structure.
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
  // Features that only encoder-decoders have.
  if (!readsSource)
    return;
  sourceBias = random.chance(50);
  sourceNorm = random.chance(30);
  encoderLayers = random.between(0, 3);
}

/// Writes one decoder.
class DecoderBuilder {
public:
  DecoderBuilder(ModuleOp module, uint64_t seed, DecoderKind kind,
                 RandomWeights &weights)
      : module(module), random(seed), has(random, kind), weights(weights),
        builder(module.getContext()) {}

  /// Writes all entries.
  void build();

private:
  Location location() {
    return makeLocation(module.getContext(), path, "random.json",
                        "/nodes/" + std::to_string(nodes++));
  }
  /// Creates an operation with one result; its shape rule infers the type.
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
  Value crossAttention(Value x, int64_t layer);
  Value feedForward(Value x);
  Value layer(Value x, int64_t index);
  Value encoderLayer(Value x, Value keys, int64_t index);
  Value head(Value x);

  /// An entry argument or result.
  struct Tensor {
    const char *name, *role;
    Type type;
    int64_t bound = 0; ///< ids are below it
  };
  /// Starts a function; returns its arguments.
  Block::BlockArgListType begin(const char *name, ArrayRef<Tensor> arguments,
                                ArrayRef<Tensor> results);
  int64_t getWindow(int64_t layer) const {
    return has.alternates && layer % 2 == 1 ? 0 : has.window;
  }
  void declareCaches();
  Value getCache(StringRef name);
  void buildEncode();
  void buildSource();
  void buildStep();

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

static std::string cacheName(int64_t layer, const char *block) {
  return "layers." + std::to_string(layer) + "." + block;
}

/// Declares the caches for all layers.
void DecoderBuilder::declareCaches() {
  for (int64_t layer = 0; layer < has.layers; ++layer) {
    path = "layers." + std::to_string(layer);
    auto declare = [&](const char *block, int64_t window, int64_t positions) {
      builder.create<CacheOp>(location(), cacheName(layer, block),
                              CacheType::get(module.getContext(), has.kvHeads,
                                             has.dk, has.dv, window,
                                             positions));
    };
    declare("attention", getWindow(layer), 0);
    if (has.readsSource)
      declare("cross", 0, longestSource);
  }
}

Value DecoderBuilder::getCache(StringRef name) {
  auto cache = cast<CacheOp>(module.lookupSymbol(name));
  return builder.create<GetCacheOp>(location(), cache.getType(), name);
}

Value DecoderBuilder::attention(Value x, int64_t layer) {
  Value query = rotate(linear(x, has.heads * has.dk), has.heads);
  Value key = rotate(linear(x, has.kvHeads * has.dk), has.kvHeads);
  Value value = linear(x, has.kvHeads * has.dv);
  Value cache = getCache(cacheName(layer, "attention"));
  Value result =
      make<SdpaOp>(query, key, value, Value(), ragged, cache, slopes, Value(),
                   Value(), Value(), whole(has.heads), whole(has.kvHeads),
                   real(1 / std::sqrt(double(has.dk))),
                   MaskKindAttr::get(module.getContext(), MaskKind::Ragged),
                   builder.getUnitAttr(), whole(getWindow(layer)),
                   real(has.cap), FloatAttr(), whole(0));
  return linear(result, has.width);
}

/// Attention to the encoder states.
Value DecoderBuilder::crossAttention(Value x, int64_t layer) {
  Value result =
      make<CrossSdpaOp>(linear(x, has.heads * has.dk), ragged,
                        getCache(cacheName(layer, "cross")), whole(has.heads),
                        real(1 / std::sqrt(double(has.dk))), real(has.cap));
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
    Value sum = make<AddOp>(attention(norm(x), index), feedForward(norm(x)));
    if (has.readsSource)
      sum = make<AddOp>(sum, crossAttention(norm(x), index));
    return make<AddOp>(sum, x);
  }
  x = make<AddOp>(postNorm(attention(norm(x), index)), x);
  if (has.readsSource)
    x = make<AddOp>(postNorm(crossAttention(norm(x), index)), x);
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

Block::BlockArgListType DecoderBuilder::begin(const char *name,
                                              ArrayRef<Tensor> arguments,
                                              ArrayRef<Tensor> results) {
  auto getTypes = [](ArrayRef<Tensor> tensors) {
    return llvm::map_to_vector(tensors, [](const Tensor &t) { return t.type; });
  };
  builder.setInsertionPointToEnd(module.getBody());
  path = name;
  function = builder.create<func::FuncOp>(
      location(), name,
      builder.getFunctionType(getTypes(arguments), getTypes(results)));
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    function.setArgAttr(i, "attn.name", builder.getStringAttr(argument.name));
    function.setArgAttr(i, "attn.role", builder.getStringAttr(argument.role));
    if (argument.bound)
      function.setArgAttr(i, "attn.bound", whole(argument.bound));
  }
  for (auto [i, result] : llvm::enumerate(results))
    function.setResultAttr(i, "attn.name", builder.getStringAttr(result.name));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  return body->getArguments();
}

/// An encoder layer with pre-norms.
Value DecoderBuilder::encoderLayer(Value x, Value keys, int64_t index) {
  path = "encoder." + std::to_string(index);
  Value y = norm(x);
  MLIRContext *context = module.getContext();
  y = make<SdpaOp>(linear(y, has.heads * has.dk), linear(y, has.heads * has.dk),
                   linear(y, has.heads * has.dv), keys, Value(), Value(),
                   Value(), Value(), Value(), Value(), whole(has.heads),
                   whole(has.heads), real(1 / std::sqrt(double(has.dk))),
                   MaskKindAttr::get(context, MaskKind::Keys), UnitAttr(),
                   whole(0), real(has.cap), FloatAttr(), whole(0));
  x = make<AddOp>(x, linear(y, has.width));
  return make<AddOp>(x, feedForward(norm(x)));
}

/// Ids and their mask to states, which are zero at padding.
void DecoderBuilder::buildEncode() {
  Polynomial batch = Polynomial::symbol("batch"),
             seq = Polynomial::symbol("seq"), one(1);
  Type whole64 = getTensorType({batch, seq}, builder.getI64Type());
  Type states =
      getTensorType({batch, seq, Polynomial(has.width)}, builder.getF32Type());
  auto arguments = begin("encode",
                         {{"input_ids", "ids", whole64, has.vocabulary},
                          {"attention_mask", "mask", whole64}},
                         {{"states", "", states}});
  function.setArgAttr(1, "attn.mask_of", builder.getStringAttr("input_ids"));
  Value mask = make<CastOp>(arguments[1], TypeAttr::get(builder.getI1Type()));
  Value x = make<EmbeddingOp>(arguments[0],
                              weight({has.vocabulary, has.width}, 1), real(1));
  for (int64_t i = 0; i < has.encoderLayers; ++i)
    x = encoderLayer(x, mask, i);
  path = "encoder";
  Value rows = make<ReshapeOp>(
      mask, ShapeAttr::get(module.getContext(), {batch, seq, one}));
  x = make<MaskOp>(norm(x), rows, real(0));
  builder.create<func::ReturnOp>(location(), x);
}

/// Maps encoder states and their mask to the keys and values for all layers.
void DecoderBuilder::buildSource() {
  MLIRContext *context = module.getContext();
  // Declare the entry.
  Polynomial batch = Polynomial::symbol("batch"),
             seq = Polynomial::symbol("seq");
  auto arguments = begin("source",
                         {{"states", "data",
                           getTensorType({batch, seq, Polynomial(has.width)},
                                         builder.getF32Type())},
                          {"attention_mask", "mask",
                           getTensorType({batch, seq}, builder.getI64Type())}},
                         {});
  function->setAttr("transom.kind", builder.getStringAttr("source"));
  function->setAttr("transom.encoder", builder.getStringAttr("encode"));
  // Pack the states' rows and append keys and values to each layer's cache.
  Value tokens = builder.create<RaggedBatchOp>(
      location(),
      RaggedType::get(context, builder.getStringAttr("rows1"),
                      builder.getStringAttr("keys1")),
      arguments[1], UnitAttr());
  Value x = make<GatherRowsOp>(arguments[0], tokens);
  if (has.sourceNorm)
    x = norm(x);
  for (int64_t i = 0; i < has.layers; ++i) {
    path = "layers." + std::to_string(i) + ".cross";
    Value key = linear(x, has.kvHeads * has.dk);
    Value value = linear(x, has.kvHeads * has.dv);
    x = make<AppendOp>(x, key, value, tokens, getCache(cacheName(i, "cross")));
  }
  builder.create<func::ReturnOp>(location());
}

/// Maps the tokens in a step to the requested logits.
void DecoderBuilder::buildStep() {
  MLIRContext *context = module.getContext();
  auto vector = [&](const char *symbol) {
    return getTensorType({Polynomial::symbol(symbol)}, builder.getI64Type());
  };
  auto name = [&](const char *text) { return builder.getStringAttr(text); };
  // Declare the entry.
  auto arguments = begin("step",
                         {{"tokens", "ids", vector("rows"), has.vocabulary},
                          {"wanted", "data", vector("wanted")}},
                         {{"logits", "",
                           getTensorType({Polynomial::symbol("wanted"),
                                          Polynomial(has.vocabulary)},
                                         builder.getF32Type())}});
  function->setAttr("transom.vocabulary", whole(has.vocabulary));
  if (has.positions == Features::Learned || has.positions == Features::Rope)
    function->setAttr("transom.context", whole(longest));

  path = "embeddings";
  Value tokens = arguments[0];
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
  Value logits = head(make<GatherOp>(x, arguments[1]));
  builder.create<func::ReturnOp>(location(), logits);
}

void DecoderBuilder::build() {
  builder.setInsertionPointToEnd(module.getBody());
  declareCaches();
  if (has.readsSource) {
    buildEncode();
    buildSource();
  }
  buildStep();
}

} // namespace

OwningOpRef<ModuleOp> makeRandomDecoder(MLIRContext *context, uint64_t seed,
                                        DecoderKind kind,
                                        RandomWeights &weights) {
  OwningOpRef<ModuleOp> module = makeRandomModule(context);
  Builder builder(context);
  Attribute unbounded = builder.getDictionaryAttr(
      builder.getNamedAttr("max", builder.getI64IntegerAttr(-1)));
  std::vector<NamedAttribute> symbols;
  std::vector<StringRef> names = {"keys", "rows", "wanted"};
  if (kind == DecoderKind::EncoderDecoder)
    names = {"batch", "keys", "keys1", "rows", "rows1", "seq", "wanted"};
  for (StringRef symbol : names)
    symbols.push_back(builder.getNamedAttr(symbol, unbounded));
  (*module)->setAttr("attn.symbols", builder.getDictionaryAttr(symbols));
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  (*module)->setAttr("attn.info",
                     builder.getDictionaryAttr({text("family", "graph"),
                                                text("architecture", "random"),
                                                text("head", "causal_lm")}));
  DecoderBuilder(*module, seed, kind, weights).build();
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
