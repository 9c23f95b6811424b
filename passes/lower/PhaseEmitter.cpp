// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands are loaded from the frame once, at the top of the function.
#include "passes/lower/PhaseEmitter.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

PhaseEmitter::PhaseEmitter(OpBuilder &builder, Location loc,
                           const ModuleInfo &info, func::FuncOp source,
                           LLVM::LLVMFuncOp function, MicroKernels &kernels)
    : CodeEmitter(builder, loc, kernels.getIsa()), info(info),
      entry(info.getEntry(source)), microKernels(kernels),
      entryBlock(&function.getBody().front()) {
  frame = function.getArgument(0);
  layerOffsets = function.getArgument(1);
  workerArg = toIndex(function.getArgument(2));
  numWorkersArg = toIndex(function.getArgument(3));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Index PhaseEmitter::number(Value owner, unsigned layersAhead) {
  if (Value number = numbers.lookup({owner, layersAhead}))
    return toIndex(number);
  if (auto alloc = owner.getDefiningOp<kern::AllocOp>())
    return i64(alloc.getSlot().value_or(0));
  if (auto weight = owner.getDefiningOp<kern::GetWeightOp>())
    return i64(info.getWeightOffset(weight.getWeightAttr()));
  if (owner.getDefiningOp<kern::GetCacheOp>())
    return i64(info.getCache(owner).getOffset().value_or(0));
  // The layers' offset tables are consecutive.
  auto parameter = cast<BlockArgument>(owner);
  int64_t index = layersAhead * info.getNumOffsets(parameter) +
                  info.getOffsetIndex(parameter);
  return loadI64(advance(layerOffsets, 8 * index));
}

Value PhaseEmitter::atEntry(function_ref<Value()> emit) {
  OpBuilder::InsertionGuard guard(builder());
  if (lastAtEntry)
    builder().setInsertionPointAfter(lastAtEntry);
  else
    builder().setInsertionPointToStart(entryBlock);
  Value value = emit();
  if (Operation *op = value.getDefiningOp())
    lastAtEntry = op;
  return value;
}

Index PhaseEmitter::size(const Polynomial &polynomial) {
  if (std::optional<int64_t> constant = polynomial.constant())
    return i64(*constant);
  Value &known = sizes[polynomial.str()];
  if (known)
    return toIndex(known);
  known = atEntry([&] {
    // Sum up the monomials, each a product of frame symbols.
    Value symbols = framePointer(offsetof(transom_frame, symbols));
    Index sum = i64(0);
    for (const auto &[monomial, coefficient] : polynomial.terms()) {
      Index term = i64(coefficient);
      for (const std::string &name : monomial)
        term = term *
               loadI64(advance(symbols, 8 * info.getSymbolIndex(entry, name)));
      sum = sum + term;
    }
    // The sum may be folded to an older value. A separate op dominates all
    // uses, because it comes after all operands.
    return builder().create<arith::AddIOp>(location(), sum, i64(0)).getResult();
  });
  return toIndex(known);
}

Index PhaseEmitter::numAskedRows(Value buffer, Value out) {
  Index rows = numRows(buffer);
  auto argument = dyn_cast<BlockArgument>(info.getStorage(out));
  if (!argument || !entry.getArgAttr(argument.getArgNumber(), "attn.optional"))
    return rows;
  return lower::select(Bool(*this, isNull(pointer(out))), 0, rows);
}

void PhaseEmitter::storeSize(StringRef name, Index value) {
  Value symbols =
      atEntry([&] { return framePointer(offsetof(transom_frame, symbols)); });
  store(value, advance(symbols, 8 * info.getSymbolIndex(entry, name)));
}

Value PhaseEmitter::counters() {
  return atEntry(
      [&] { return framePointer(offsetof(transom_frame, counters)); });
}

Value PhaseEmitter::pointer(Value buffer) {
  Value storage = info.getStorage(buffer);
  if (Value known = values.lookup(storage))
    return known;
  Value value = atEntry([&]() -> Value {
    // Entry arguments are in the argument table.
    if (auto argument = dyn_cast<BlockArgument>(storage)) {
      Value args = framePointer(offsetof(transom_frame, args));
      return loadPtr(advance(args, 8 * argument.getArgNumber()));
    }
    // Other buffers are in the arena, at an offset computed per call.
    Value arena = framePointer(offsetof(transom_frame, arena));
    Value offsets = framePointer(offsetof(transom_frame, offsets));
    return advance(arena, loadI64(advance(offsets, number(storage) * 8)));
  });
  values[storage] = value;
  return value;
}

Value PhaseEmitter::weight(Value weight) {
  if (Value known = values.lookup(weight))
    return known;
  Value value = atEntry([&]() -> Value {
    Value base = framePointer(offsetof(transom_frame, weights));
    return advance(base, number(weight));
  });
  values[weight] = value;
  return value;
}

Value PhaseEmitter::nextLayersWeight(Value weight) {
  return atEntry([&]() -> Value {
    Value base = framePointer(offsetof(transom_frame, weights));
    return advance(base, number(weight, 1));
  });
}

Value PhaseEmitter::blockTable(Value cache) {
  int64_t group = info.getCache(cache).getGroup().value_or(0);
  Value &known = tables["blocks." + std::to_string(group)];
  if (!known)
    known = atEntry([&]() -> Value {
      Value caches = framePointer(offsetof(transom_frame, caches));
      return loadPtr(advance(
          caches, group * int64_t(sizeof(transom_kv_cache)) +
                      int64_t(offsetof(transom_kv_cache, block_table))));
    });
  return known;
}

Index PhaseEmitter::offsetInBlock(Value cache) {
  if (cache.getDefiningOp())
    return number(cache);
  if (Value known = values.lookup(cache))
    return toIndex(known);
  Value value = atEntry([&]() -> Value { return number(cache); });
  values[cache] = value;
  return toIndex(value);
}

Value PhaseEmitter::ragged(Value ragged) {
  int64_t index = cast<kern::RaggedType>(ragged.getType()).getIndex();
  Value &known = tables["ragged." + std::to_string(index)];
  if (!known)
    known = atEntry([&]() -> Value {
      Value table = framePointer(offsetof(transom_frame, ragged_batches));
      return advance(table, i64(index * int64_t(sizeof(transom_ragged_batch))));
    });
  return known;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

IndexPair PhaseEmitter::workerRange(Index count) {
  Index from = count * worker() / numWorkers();
  Index to = count * (worker() + 1) / numWorkers();
  return {from, to};
}

void PhaseEmitter::forWorkerRange(Index count, LoopBody body) {
  auto [from, to] = workerRange(count);
  forLoop(from, to, 1, body);
}

void PhaseEmitter::forColumns(Index count,
                              function_ref<void(Index, Value)> body) {
  foldColumns(count, {}, [&](Index column, Value mask, ValueRange) {
    body(column, mask);
    return SmallVector<Value>();
  });
}

SmallVector<Value> PhaseEmitter::foldColumns(
    Index count, ValueRange init,
    function_ref<SmallVector<Value>(Index, Value, ValueRange)> body) {
  // Full vectors first.
  Index rest = count % kLanes;
  Index full = count - rest;
  SmallVector<Value> carried =
      forLoop(i64(0), full, kLanes, init, [&](Index column, ValueRange values) {
        return body(column, Value(), values);
      });
  // Then at most one masked vector: a loop with zero or one iterations.
  return forLoop(full, count, kLanes, carried,
                 [&](Index column, ValueRange values) {
                   return body(column, laneMask(rest), values);
                 });
}

Value PhaseEmitter::positionTable(const PositionBuckets &rule) {
  const int64_t most = rule.getReach() + kLanes;
  std::string name = "transom.positions." + std::to_string(rule.positions) +
                     "." + std::to_string(rule.maxDistance);
  auto module = entryBlock->getParentOp()->getParentOfType<ModuleOp>();
  // Create the constant table, once per module.
  if (!module.lookupSymbol<LLVM::GlobalOp>(name)) {
    SmallVector<int32_t> entries;
    for (int64_t distance = -most; distance <= most; ++distance)
      entries.push_back(static_cast<int32_t>(rule.getRow(-distance)));
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    Type element = b.getI32Type();
    const auto count = static_cast<int64_t>(entries.size());
    b.create<LLVM::GlobalOp>(
        NameLoc::get(b.getStringAttr(name)),
        LLVM::LLVMArrayType::get(element, entries.size()), /*isConstant=*/true,
        LLVM::Linkage::Internal, name,
        DenseElementsAttr::get(RankedTensorType::get({count}, element),
                               ArrayRef(entries)),
        /*alignment=*/64);
  }
  // Return the address of distance 0.
  return atEntry([&] {
    Value table =
        builder().create<LLVM::AddressOfOp>(location(), ptrType(), name);
    return advance(table, most * 4);
  });
}

void PhaseEmitter::forRowBlocks(Index rows, const OperandLowering &rhs,
                                function_ref<void(Index, Index)> body) {
  RowBlocks blocks(i64(0), rows, kernels().getMaxMr(rhs));
  forRange(min(blocks.count, rows), [&](Index i) {
    auto [first, numRows] = blocks.at(i);
    body(first, numRows);
  });
}

RowBlocks::RowBlocks(Index first, Index rows, int64_t maxRows)
    : count(max(ceilDiv(rows, maxRows), 1)), first(first), size(rows / count),
      numLarger(rows % count) {}

IndexPair RowBlocks::at(Index block) {
  // The first `numLarger` blocks have one extra row.
  Index row = first + (block * size + min(block, numLarger));
  Index extra = select(block < numLarger, 1, 0);
  return {row, size + extra};
}
