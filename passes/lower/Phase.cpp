// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a phase finds its data in the frame, and how its work is shared out.
#include "passes/lower/Phase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

Program::Program(ModuleOp module) : symbols(module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    all.push_back(function);
    function.walk([&](kern::LayersOp layers) {
      for (Attribute row : layers.getRows()) {
        auto body = cast<FlatSymbolRefAttr>(cast<ArrayAttr>(row)[0]);
        callSites[symbols.lookup(body.getValue())] = layers;
      }
    });
  }
}

Value Program::storage(Value buffer) const {
  while (true) {
    buffer = kern::getStorage(buffer);
    auto argument = dyn_cast<BlockArgument>(buffer);
    if (!argument)
      return buffer;
    auto site = callSites.find(argument.getOwner()->getParentOp());
    if (site == callSites.end())
      return buffer;
    // The operands of layers are the state and the invariants, in this order.
    kern::LayersOp layers = site->second;
    buffer = layers->getOperand(argument.getArgNumber());
  }
}

func::FuncOp Program::entryOf(func::FuncOp function) const {
  auto site = callSites.find(function);
  return site == callSites.end()
             ? function
             : entryOf(const_cast<kern::LayersOp &>(site->second)
                           ->getParentOfType<func::FuncOp>());
}

int64_t Program::symbolIndex(func::FuncOp entry, StringRef name) const {
  for (auto [i, symbol] :
       llvm::enumerate(entry->getAttrOfType<ArrayAttr>("kern.symbols")))
    if (cast<StringAttr>(symbol).getValue() == name)
      return i;
  return -1;
}

int64_t Program::weightOffset(FlatSymbolRefAttr weight) const {
  auto definition = cast<kern::WeightOp>(symbols.lookup(weight.getValue()));
  return definition.getOffset().value_or(0);
}

kern::CacheOp Program::cache(Value cache) const {
  FlatSymbolRefAttr name;
  if (auto definition = cache.getDefiningOp<kern::GetCacheOp>()) {
    name = definition.getCacheAttr();
  } else {
    auto parameter = cast<BlockArgument>(cache);
    kern::LayersOp site =
        callSites.find(parameter.getOwner()->getParentOp())->second;
    auto body =
        cast<func::FuncOp>(parameter.getOwner()->getParentOp()).getSymName();
    for (Attribute entry : site.getRows()) {
      auto row = cast<ArrayAttr>(entry);
      if (cast<FlatSymbolRefAttr>(row[0]).getValue() != body)
        continue;
      name = cast<FlatSymbolRefAttr>(row[1 + rowIndex(parameter)]);
      break;
    }
  }
  return cast<kern::CacheOp>(symbols.lookup(name.getValue()));
}

int64_t Program::rowIndex(BlockArgument parameter) const {
  auto site = callSites.find(parameter.getOwner()->getParentOp());
  return parameter.getArgNumber() -
         const_cast<kern::LayersOp &>(site->second)->getNumOperands();
}

int64_t Program::rowLength(BlockArgument weight) const {
  return weight.getOwner()->getNumArguments() - weight.getArgNumber() +
         rowIndex(weight);
}

//===----------------------------------------------------------------------===//
// PhaseEmitter
//===----------------------------------------------------------------------===//

PhaseEmitter::PhaseEmitter(OpBuilder &builder, Location loc,
                           const Program &program, func::FuncOp source,
                           LLVM::LLVMFuncOp function, MicroKernels &kernels)
    : Emitter(builder, loc, kernels.instructions()), program(program),
      source(source), entry(program.entryOf(source)), microKernels(kernels),
      entryBlock(&function.getBody().front()) {
  frame = function.getArgument(0);
  row = function.getArgument(1);
  partArg = function.getArgument(2);
  partsArg = function.getArgument(3);
}

Value PhaseEmitter::atEntry(function_ref<Value()> emit) {
  OpBuilder::InsertionGuard guard(builder());
  if (lastAtEntry)
    builder().setInsertionPointAfter(lastAtEntry);
  else
    builder().setInsertionPointToStart(entryBlock);
  Value value = emit();
  lastAtEntry = value.getDefiningOp();
  return value;
}

Value PhaseEmitter::size(const Polynomial &polynomial) {
  if (std::optional<int64_t> constant = polynomial.constant())
    return i64(*constant);
  std::string text = polynomial.str();
  auto known = symbolValues.find(text);
  if (known != symbolValues.end())
    return known->second;
  Value value = atEntry([&] {
    Value symbols = loadPtr(advance(frame, offsetof(transom_frame, symbols)));
    Value sum = i64(0);
    for (const auto &[monomial, coefficient] : polynomial.terms()) {
      Value term = i64(coefficient);
      for (const std::string &name : monomial)
        term = mul(term, loadI64(advance(
                             symbols, 8 * program.symbolIndex(entry, name))));
      sum = add(sum, term);
    }
    // An operation of its own, so that what follows stands behind it.
    return builder().create<arith::AddIOp>(location(), sum, i64(0)).getResult();
  });
  symbolValues[text] = value;
  return value;
}

Value PhaseEmitter::pointer(Value buffer) {
  Value storage = program.storage(buffer);
  if (Value known = pointers.lookup(storage))
    return known;
  Value value = atEntry([&]() -> Value {
    if (auto argument = dyn_cast<BlockArgument>(storage)) {
      Value args = loadPtr(advance(frame, offsetof(transom_frame, args)));
      return loadPtr(advance(args, 8 * argument.getArgNumber()));
    }
    int64_t slot =
        cast<kern::AllocOp>(storage.getDefiningOp()).getSlot().value_or(0);
    Value arena = loadPtr(advance(frame, offsetof(transom_frame, arena)));
    Value offsets = loadPtr(advance(frame, offsetof(transom_frame, offsets)));
    return advance(arena, loadI64(advance(offsets, 8 * slot)));
  });
  pointers[storage] = value;
  return value;
}

Value PhaseEmitter::weight(Value weight) {
  if (Value known = pointers.lookup(weight))
    return known;
  Value value = atEntry([&]() -> Value {
    Value base = loadPtr(advance(frame, offsetof(transom_frame, weights)));
    if (auto definition = weight.getDefiningOp<kern::GetWeightOp>())
      return advance(
          base, builder()
                    .create<arith::ConstantIntOp>(
                        location(),
                        program.weightOffset(definition.getWeightAttr()), 64)
                    .getResult());
    return advance(
        base, loadI64(advance(
                  row, 8 * program.rowIndex(cast<BlockArgument>(weight)))));
  });
  pointers[weight] = value;
  return value;
}

Value PhaseEmitter::nextRowsWeight(Value weight) {
  auto parameter = cast<BlockArgument>(weight);
  int64_t index = program.rowLength(parameter) + program.rowIndex(parameter);
  return atEntry([&]() -> Value {
    Value base = loadPtr(advance(frame, offsetof(transom_frame, weights)));
    return advance(base, loadI64(advance(row, 8 * index)));
  });
}

Value PhaseEmitter::blocks(Value cache) {
  int64_t group = program.cache(cache).getGroup().value_or(0);
  Value &known = symbolValues["blocks." + std::to_string(group)];
  if (!known)
    known = atEntry([&]() -> Value {
      Value caches = loadPtr(advance(frame, offsetof(transom_frame, caches)));
      return loadPtr(advance(
          caches, group * int64_t(sizeof(transom_kv_cache)) +
                      int64_t(offsetof(transom_kv_cache, block_table))));
    });
  return known;
}

Value PhaseEmitter::offsetInBlock(Value cache) {
  if (cache.getDefiningOp())
    return i64(program.cache(cache).getOffset().value_or(0));
  if (Value known = pointers.lookup(cache))
    return known;
  Value value = atEntry([&]() -> Value {
    return loadI64(
        advance(row, 8 * program.rowIndex(cast<BlockArgument>(cache))));
  });
  pointers[cache] = value;
  return value;
}

Value PhaseEmitter::ragged(Value ragged) {
  int64_t index = cast<kern::RaggedType>(ragged.getType()).getIndex();
  Value &known = symbolValues["ragged." + std::to_string(index)];
  if (!known)
    known = atEntry([&]() -> Value {
      Value table =
          loadPtr(advance(frame, offsetof(transom_frame, ragged_batches)));
      return advance(table, i64(index * int64_t(sizeof(transom_ragged_batch))));
    });
  return known;
}

std::pair<Value, Value> PhaseEmitter::share(Value count) {
  return {div(mul(count, part()), parts()),
          div(mul(count, add(part(), 1)), parts())};
}

void PhaseEmitter::shareRows(Value count, Body body) {
  auto [from, to] = share(count);
  forLoop(from, to, 1, body);
}

void PhaseEmitter::columns(Value count, function_ref<void(Value, Value)> body) {
  foldColumns(count, {}, [&](Value column, Value mask, ValueRange) {
    body(column, mask);
    return SmallVector<Value>();
  });
}

SmallVector<Value> PhaseEmitter::foldColumns(
    Value count, ValueRange init,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  Value rest = rem(count, i64(kLanes));
  Value whole = sub(count, rest);
  SmallVector<Value> carried = forLoop(i64(0), whole, kLanes, init,
                                       [&](Value column, ValueRange values) {
                                         return body(column, Value(), values);
                                       });
  // One more turn, or none, for the columns that fill no vector.
  return forLoop(whole, count, kLanes, carried,
                 [&](Value column, ValueRange values) {
                   return body(column, laneMask(rest), values);
                 });
}

void PhaseEmitter::tiles(Value rows, function_ref<void(Value, Value)> body,
                         bool bf16) {
  RowBlocks blocks(*this, i64(0), rows, kernels().maxRows(bf16));
  forLoop(i64(0), min(blocks.count, rows), 1, [&](Value i) {
    auto [first, height] = blocks.at(i);
    body(first, height);
  });
}

RowBlocks::RowBlocks(Emitter &e, Value first, Value rows, int64_t highest)
    : count(e.max(e.ceilDiv(rows, highest), e.i64(1))), e(e), first(first),
      height(e.div(rows, count)), taller(e.rem(rows, count)) {}

std::pair<Value, Value> RowBlocks::at(Value block) {
  Value row = e.add(first, e.add(e.mul(block, height), e.min(block, taller)));
  Value more = e.select(e.less(block, taller), e.i64(1), e.i64(0));
  return {row, e.add(height, more)};
}

//===----------------------------------------------------------------------===//
// Strided access
//===----------------------------------------------------------------------===//

SmallVector<Value> lower::emitStrides(PhaseEmitter &e, kern::BufferType type) {
  SmallVector<Polynomial> dims = type.getDims();
  SmallVector<Value> strides(dims.size());
  Polynomial stride(1);
  for (int64_t i = int64_t(dims.size()) - 1; i >= 0; --i) {
    strides[i] = e.size(stride);
    stride =
        i + 1 == int64_t(dims.size()) ? type.getRowStride() : stride * dims[i];
  }
  return strides;
}

Value lower::emitBroadcastOffset(PhaseEmitter &e, Value row,
                                 ArrayRef<Polynomial> dims,
                                 ArrayRef<Polynomial> operandDims,
                                 const Polynomial &operandRowStride) {
  ArrayRef<Polynomial> outer = dims.drop_back();
  ArrayRef<Polynomial> operandOuter =
      operandDims.empty() ? operandDims : operandDims.drop_back();
  if (outer == operandOuter)
    return e.mul(row, e.size(operandRowStride));
  Value offset = e.i64(0), rest = row;
  Polynomial stride = operandRowStride;
  int64_t shift = outer.size() - operandOuter.size();
  for (int64_t i = int64_t(outer.size()) - 1; i >= shift; --i) {
    Value extent = e.size(outer[i]);
    const Polynomial &own = operandOuter[i - shift];
    if (own != Polynomial(1) || outer[i] == Polynomial(1))
      offset = e.add(offset, e.mul(e.rem(rest, extent), e.size(stride)));
    rest = e.div(rest, extent);
    stride = stride * own;
  }
  return offset;
}

/// The offsets of outer index `index` on both sides.
static std::pair<Value, Value>
outerOffsets(PhaseEmitter &e, const StridedCopy &copy, Value index) {
  Value source = e.i64(0), target = e.i64(0);
  for (int64_t i = int64_t(copy.sizes.size()) - 2; i >= 0; --i) {
    Value own = e.rem(index, copy.sizes[i]);
    index = e.div(index, copy.sizes[i]);
    source = e.add(source, e.mul(own, copy.sourceStrides[i]));
    target = e.add(target, e.mul(own, copy.targetStrides[i]));
  }
  return {source, target};
}

void lower::emitStridedCopy(PhaseEmitter &e, const StridedCopy &copy) {
  int64_t bytes =
      std::max<int64_t>(1, copy.element.getIntOrFloatBitWidth() / 8);
  Type memory =
      copy.element.isInteger(1) ? Type(e.builder().getI8Type()) : copy.element;
  Value outer = e.i64(1);
  for (Value size : ArrayRef(copy.sizes).drop_back())
    outer = e.mul(outer, size);
  Value inner = copy.sizes.back();
  APInt stride;
  bool dense =
      matchPattern(copy.sourceStrides.back(), m_ConstantInt(&stride)) &&
      stride == 1 &&
      matchPattern(copy.targetStrides.back(), m_ConstantInt(&stride)) &&
      stride == 1;
  e.shareRows(outer, [&](Value index) {
    auto [sourceOffset, targetOffset] = outerOffsets(e, copy, index);
    Value source = e.advance(copy.source, e.mul(sourceOffset, bytes));
    Value target = e.advance(copy.target, e.mul(targetOffset, bytes));
    if (dense) {
      e.columns(inner, [&](Value column, Value mask) {
        Value at = e.mul(column, bytes);
        e.storeVector(e.loadVector(memory, e.advance(source, at), mask),
                      e.advance(target, at), mask);
      });
      return;
    }
    e.forLoop(e.i64(0), inner, 1, [&](Value column) {
      Value from = e.advance(
          source, e.mul(e.mul(column, copy.sourceStrides.back()), bytes));
      Value to = e.advance(
          target, e.mul(e.mul(column, copy.targetStrides.back()), bytes));
      e.store(e.load(memory, from), to);
    });
  });
}
