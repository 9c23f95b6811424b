// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups constant uses by their reader. A group with several values would make
// layers differ.
#include "passes/graph/LayerConstants.h"
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace transom::attn;

namespace transom {

/// A module path in which `#` replaces each number.
static std::string getPathWithoutNumbers(Location location) {
  std::string result;
  for (char c : getModulePath(location)) {
    if (!llvm::isDigit(c))
      result += c;
    else if (result.empty() || result.back() != '#')
      result += '#';
  }
  return result;
}

/// A weight may contain finite floats.
static bool mayBeWeight(ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  return elements && elements.getElementType().isF32() &&
         llvm::all_of(elements.getValues<APFloat>(),
                      [](const APFloat &x) { return x.isFinite(); });
}

static void replaceByWeight(ConstantOp op, SymbolTable &symbols) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  const std::vector<double> numbers(elements.getValues<float>().begin(),
                                    elements.getValues<float>().end());
  const std::string path = getModulePath(op.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(
      &cast<ModuleOp>(symbols.getOp()).getBodyRegion().front());
  auto weight = builder.create<WeightOp>(
      op.getLoc(), path.empty() ? "constant" : path, elements.getType(),
      WeightExpr::values(elements.getType().getShape().vec(), numbers));
  const StringAttr symbol = symbols.insert(weight);
  builder.setInsertionPoint(op);
  auto get = builder.create<GetWeightOp>(op.getLoc(), op.getType(),
                                         FlatSymbolRefAttr::get(symbol));
  op.getResult().replaceAllUsesWith(get.getResult());
  op.erase();
}

void shareConstants(func::FuncOp entry, SymbolTable &symbols) {
  using Key = std::tuple<const void *, unsigned, const void *, std::string>;
  std::map<Key, llvm::SmallSetVector<Attribute, 2>> values;
  llvm::MapVector<ConstantOp, SmallVector<Key>> readers;
  for (auto constant : entry.getOps<ConstantOp>()) {
    if (!mayBeWeight(constant))
      continue;
    for (OpOperand &use : constant.getResult().getUses()) {
      Key key(use.getOwner()->getName().getAsOpaquePointer(),
              use.getOperandNumber(), constant.getType().getAsOpaquePointer(),
              getPathWithoutNumbers(use.getOwner()->getLoc()));
      values[key].insert(constant.getValue());
      readers[constant].push_back(std::move(key));
    }
  }
  for (auto &[constant, keys] : readers)
    if (llvm::any_of(keys,
                     [&](const Key &key) { return values[key].size() > 1; }))
      replaceByWeight(constant, symbols);
}

} // namespace transom
