// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inserts the encoder, and the keys and values for the decoder layers, in front
// of a function.
#include "passes/graph/InlineSource.h"

using namespace mlir;
using namespace transom::attn;

namespace transom {

BlockArgument findArgument(func::FuncOp function, StringRef role) {
  for (BlockArgument argument : function.getArguments()) {
    auto found = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       "attn.role");
    if (found && found == role && getDims(argument).size() == 2)
      return argument;
  }
  return BlockArgument();
}

/// True if the size is one symbol.
static bool isSymbol(const Polynomial &size) {
  return size.symbols().size() == 1 &&
         size == Polynomial::symbol(size.symbols().front());
}

BlockArgument findSymbolicIds(func::FuncOp entry) {
  BlockArgument ids = findArgument(entry, "ids");
  if (!ids)
    return ids;
  Dims dims = getDims(ids);
  return isSymbol(dims[0]) && isSymbol(dims[1]) && dims[0] != dims[1]
             ? ids
             : BlockArgument();
}

bool isPlainSource(func::FuncOp encoder, func::FuncOp source) {
  if (!findArgument(encoder, "ids") || !findArgument(encoder, "mask") ||
      encoder.getNumResults() == 0 || source.getNumArguments() != 2)
    return false;
  auto ragged = llvm::to_vector(source.getOps<RaggedBatchOp>());
  return ragged.size() == 1 &&
         ragged.front().getMask() == source.getArgument(1) &&
         getDims(source.getArgument(0)).size() == 3 &&
         source.getArgument(0).getType() ==
             encoder.front().getTerminator()->getOperand(0).getType();
}

/// Moves the operations in a single-block function before `place`, replaces its
/// arguments by values, erases it, and returns its results.
static SmallVector<Value> moveBody(func::FuncOp function, Operation *place,
                                   ValueRange arguments) {
  Block &block = function.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  Operation *terminator = block.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  terminator->erase();
  place->getBlock()->getOperations().splice(place->getIterator(),
                                            block.getOperations());
  function.erase();
  return results;
}

/// Inserts copies of `from`'s arguments before a function's own arguments.
static SmallVector<Value> prependArguments(func::FuncOp function,
                                           func::FuncOp from) {
  SmallVector<Value> arguments;
  for (BlockArgument argument : from.getArguments()) {
    const unsigned index = argument.getArgNumber();
    function.insertArgument(index, argument.getType(),
                            from.getArgAttrDict(index), argument.getLoc());
    arguments.push_back(function.getArgument(index));
  }
  return arguments;
}

SourceValues inlineSource(func::FuncOp function, func::FuncOp encoder,
                          func::FuncOp source) {
  Operation *place = &function.front().front();
  const unsigned maskIndex = findArgument(encoder, "mask").getArgNumber();
  SmallVector<Value> arguments = prependArguments(function, encoder);
  Value mask = arguments[maskIndex];
  Value states = moveBody(encoder, place, arguments).front();
  auto appends = llvm::to_vector(source.getOps<AppendOp>());
  moveBody(source, place, {states, mask});

  // The step reads the appended keys and values instead of the caches.
  SourceValues values;
  for (AppendOp append : appends) {
    auto cache = append.getCache().getDefiningOp<GetCacheOp>();
    values.layers[cache.getCache()] = {append.getKey(), append.getValue(),
                                       append.getRagged()};
    append.getResult().replaceAllUsesWith(append.getState());
    append.erase();
  }
  return values;
}

} // namespace transom
