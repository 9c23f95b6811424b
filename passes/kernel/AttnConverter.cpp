// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts types, values, functions and layer bodies.
// AttnConverterElementwise.cpp and other files convert single operations.
#include "passes/kernel/AttnConverter.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace transom;

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

kern::BufferType AttnConverter::bufferType(Type tensor) {
  return kern::BufferType::get(b.getContext(), attn::getSymbolicShape(tensor),
                               cast<ShapedType>(tensor).getElementType());
}

kern::WeightType transom::getWeightType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return kern::WeightType::get(type.getContext(), type.getShape(),
                               type.getElementType(), WeightLayout::Unset, {});
}

kern::CacheType transom::getCacheType(Type cache) {
  auto type = cast<attn::CacheType>(cache);
  return kern::CacheType::get(type.getContext(), type.getHeads(), type.getKey(),
                              type.getValue(), type.getWindow(),
                              type.getPositions(),
                              Float32Type::get(type.getContext()));
}

Value AttnConverter::alloc(Location loc, kern::BufferType type) {
  return b.create<kern::AllocOp>(loc, type, IntegerAttr());
}

Value AttnConverter::buffer(Value value) {
  Value known = getLowered(value);
  if (isa<kern::BufferType>(known.getType()))
    return known;
  Value copy = alloc(value.getLoc(), bufferType(value.getType()));
  elementwise(value.getLoc(), known, copy,
              [](OpBuilder &, ValueRange scalars) { return scalars[0]; });
  return copy;
}

Value AttnConverter::outBuffer(Value result) {
  Value &place = chosen[result];
  if (!place)
    place = alloc(result.getLoc(), bufferType(result.getType()));
  lowered[result] = place;
  return place;
}

void AttnConverter::elementwise(Location loc, ValueRange inputs, Value out,
                                RegionBody body) {
  auto op = b.create<kern::ElementwiseOp>(loc, inputs, out);
  Block *block = b.createBlock(&op.getBody());
  for (Value input : inputs) {
    Type element =
        isa<kern::BufferType>(input.getType())
            ? cast<kern::BufferType>(input.getType()).getElementType()
            : cast<kern::WeightType>(input.getType()).getElementType();
    block->addArgument(element, loc);
  }
  Value result = body(b, block->getArguments());
  b.create<kern::YieldOp>(loc, result);
  b.setInsertionPointAfter(op);
}

void AttnConverter::copyInto(Location loc, Value source, Value out) {
  elementwise(loc, source, out,
              [](OpBuilder &, ValueRange scalars) { return scalars[0]; });
}

/// A name for a new size symbol in an entry.
static std::string getFreeName(StringRef base, int64_t index,
                               const EntryState &entry) {
  for (;; ++index) {
    std::string name = (base + std::to_string(index)).str();
    if (!entry.symbols.count(name))
      return name;
  }
}

Value AttnConverter::uniformBatch(Location loc, const Polynomial &batch,
                                  const Polynomial &columns) {
  OpBuilder::InsertionGuard guard(b);
  kern::RaggedBatchOp &known = entry.uniform[{batch.str(), columns.str()}];
  if (!known) {
    b.setInsertionPointToStart(&entry.function.getBody().front());
    int64_t index = entry.raggedBatches++;
    std::string rows = getFreeName("rows", index, entry),
                keys = getFreeName("keys", index, entry);
    entry.symbols.insert({rows, keys});
    auto type = kern::RaggedType::get(b.getContext(), index);
    known = b.create<kern::RaggedBatchOp>(
        loc, type, Value(), b.getStringAttr(batch.str()),
        b.getStringAttr(columns.str()), b.getStringAttr(rows),
        b.getStringAttr(keys), UnitAttr());
  }
  return getOwnTable(known);
}

Value AttnConverter::cacheBatch(Location loc, kern::CacheType type) {
  kern::CacheBatchOp &known = entry.sources[type.getPositions()];
  if (!known) {
    // All caches with equal positions are in one group; use the first.
    kern::CacheOp cache;
    for (auto op : symbols.getOp()->getRegion(0).getOps<kern::CacheOp>())
      if (!cache && cast<kern::CacheType>(op.getType()).getPositions() ==
                        type.getPositions())
        cache = op;

    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&entry.function.getBody().front());
    std::string keys = "source_keys";
    if (entry.sources.size() > 1)
      keys += std::to_string(entry.sources.size());
    entry.symbols.insert(keys);
    known = b.create<kern::CacheBatchOp>(
        loc, kern::RaggedType::get(b.getContext(), entry.raggedBatches++),
        FlatSymbolRefAttr::get(cache), b.getStringAttr(keys));
  }
  return getOwnTable(known);
}

/// The value of a frame table that the entry defines. A layer body refers to
/// the same table through its own operation.
Value AttnConverter::getOwnTable(Operation *definition) {
  Value result = definition->getResult(0);
  Value &own = tables[result.getType()];
  if (!own && function == entry.function)
    own = result;
  if (!own) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function.getBody().front());
    own = b.clone(*definition)->getResult(0);
  }
  return own;
}

Value AttnConverter::makeWeight(Location loc, StringRef name,
                                ArrayRef<int64_t> shape,
                                const WeightExpr &expr) {
  auto type = kern::WeightType::get(b.getContext(), shape, b.getF32Type(),
                                    WeightLayout::Unset, {});
  OpBuilder top =
      OpBuilder::atBlockBegin(&symbols.getOp()->getRegion(0).front());
  auto weight = top.create<kern::WeightOp>(
      loc, name, type, weights::ExprAttr::get(b.getContext(), expr),
      IntegerAttr());
  StringAttr symbol = symbols.insert(weight);
  return b.create<kern::GetWeightOp>(loc, type, FlatSymbolRefAttr::get(symbol));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult convertLayers(attn::LayersOp op, AttnConverter &c) {
  return c.convertLayers(op);
}

static const AttnConversions &getConversions() {
  static const AttnConversions conversions = [] {
    AttnConversions all;
    addElementwiseConversions(all);
    addShapeConversions(all);
    addProductConversions(all);
    addAttentionConversions(all);
    addRaggedConversions(all);
    all.add<attn::LayersOp, convertLayers>();
    return all;
  }();
  return conversions;
}

LogicalResult AttnConverter::convertOp(Operation &op) {
  ++count;
  if (AttnConversions::Function convert = getConversions().lookup(op))
    return convert(op, *this);
  return op.emitOpError("has no kernel");
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// True if the value's operation writes the complete result to its buffer.
static bool ownsBuffer(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isa<attn::ReshapeOp, attn::GetWeightOp, attn::LayersOp,
                    attn::ConstantOp, attn::AppendOp>(op);
}

LogicalResult AttnConverter::convertEntry(func::FuncOp source) {
  // Create the function, whose results become arguments after the inputs.
  auto returned = cast<func::ReturnOp>(source.getBody().front().back());
  SmallVector<Type> types;
  for (Type type : llvm::concat<const Type>(source.getArgumentTypes(),
                                            source.getResultTypes()))
    types.push_back(bufferType(type));
  b.setInsertionPoint(source);
  std::string name = source.getSymName().str();
  symbols.remove(source);
  auto function = b.create<func::FuncOp>(source.getLoc(), name,
                                         b.getFunctionType(types, {}));
  this->function = entry.function = function;
  int64_t inputs = source.getNumArguments();
  function->setAttr("kern.inputs", b.getI64IntegerAttr(inputs));
  // Keep the attributes from which the manifest describes decoders.
  for (NamedAttribute attribute : source->getDiscardableAttrs())
    if (attribute.getName().getValue().starts_with("transom."))
      function->setAttr(attribute.getName(), attribute.getValue());
  for (unsigned i : llvm::seq(source.getNumArguments()))
    function.setArgAttrs(i, source.getArgAttrDict(i));
  for (unsigned i : llvm::seq(source.getNumResults()))
    function.setArgAttrs(inputs + i, source.getResultAttrDict(i));
  // Results are written directly to their arguments if one operation writes
  // them.
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  for (auto [old, argument] :
       llvm::zip(source.getArguments(), block->getArguments()))
    lowered[old] = argument;
  for (auto [i, value] : llvm::enumerate(returned.getOperands()))
    if (ownsBuffer(value) && !chosen.count(value))
      chosen[value] = block->getArgument(inputs + i);
  // Convert the operations, and copy the other results.
  for (Operation &op : source.getBody().front().without_terminator())
    if (failed(convertOp(op)))
      return failure();
  for (auto [i, value] : llvm::enumerate(returned.getOperands()))
    if (getLowered(value) != block->getArgument(inputs + i))
      copyInto(returned.getLoc(), getLowered(value),
               block->getArgument(inputs + i));
  b.create<func::ReturnOp>(returned.getLoc());
  source.erase();
  symbols.insert(function);
  return success();
}

/// Returns null if the body's result can be written directly to the state:
/// nothing reads the state afterwards, and its operation reads it at most row
/// by row. Otherwise returns the operation that prevents it.
static Operation *findStateReader(func::ReturnOp returned, Value state) {
  Value result = returned.getOperand(0);
  Operation *producer = result.getDefiningOp();
  if (!ownsBuffer(result))
    return producer ? producer : returned.getOperation();
  for (Operation *user : result.getUsers())
    if (user != returned || !result.hasOneUse())
      return user;
  for (Operation *user : state.getUsers()) {
    // their results refer to the state
    if (isa<attn::ReshapeOp, attn::AppendOp>(user))
      return user;
    if (user == producer
            ? !isa<attn::AddOp, attn::LayerNormOp, attn::RmsNormOp>(user)
            : !user->isBeforeInBlock(producer))
      return user;
  }
  return nullptr;
}

LogicalResult AttnConverter::convertBody(func::FuncOp source, Value state,
                                         ValueRange invariants) {
  AttnConverter body(symbols, entry);
  // Create the function: state, invariants, then weights and caches.
  SmallVector<Type> types{state.getType()};
  llvm::append_range(types, invariants.getTypes());
  for (auto parameter : source.getArguments().drop_front(1 + invariants.size()))
    types.push_back(isa<attn::CacheType>(parameter.getType())
                        ? Type(getCacheType(parameter.getType()))
                        : Type(getWeightType(parameter.getType())));
  OpBuilder &inner = body.b;
  inner.setInsertionPoint(source);
  std::string name = source.getSymName().str();
  symbols.remove(source);
  auto function = inner.create<func::FuncOp>(source.getLoc(), name,
                                             inner.getFunctionType(types, {}));
  function.setPrivate();
  body.function = function;
  Block *block = function.addEntryBlock();
  inner.setInsertionPointToStart(block);
  for (auto [old, argument] :
       llvm::zip(source.getArguments(), block->getArguments()))
    body.lowered[old] = argument;
  // Write the result directly to the state if possible.
  auto returned = cast<func::ReturnOp>(source.getBody().front().back());
  Value result = returned.getOperand(0);
  Operation *reader = findStateReader(returned, source.getArgument(0));
  if (reader)
    entry.remarks.report(
        source, {RemarkId::LayerStateIsCopied,
                 {{"body", name}, {"result", result}, {"operation", reader}}});
  else
    body.chosen[result] = block->getArgument(0);
  // Convert the operations.
  for (Operation &op : source.getBody().front().without_terminator())
    if (failed(body.convertOp(op)))
      return failure();
  if (body.getLowered(result) != block->getArgument(0))
    body.copyInto(returned.getLoc(), body.buffer(result),
                  block->getArgument(0));
  inner.create<func::ReturnOp>(returned.getLoc());
  count += body.count;
  source.erase();
  symbols.insert(function);
  return success();
}

LogicalResult AttnConverter::convertLayers(attn::LayersOp op) {
  Value state = outBuffer(op.getResult());
  copyInto(op.getLoc(), buffer(op.getState()), state);
  SmallVector<Value> invariants;
  for (Value value : op.getInvariants())
    invariants.push_back(getLowered(value));
  SmallVector<kern::LayerAttr> layers;
  for (attn::LayerAttr layer : op.getLayerRange()) {
    layers.push_back(kern::LayerAttr::get(b.getContext(), layer.getBody(),
                                          layer.getParameters()));
    auto body = symbols.lookup<func::FuncOp>(layer.getBody().getValue());
    if (body.getNumResults() && failed(convertBody(body, state, invariants)))
      return failure();
  }
  b.create<kern::LayersOp>(op.getLoc(), state, invariants, layers);
  return success();
}
