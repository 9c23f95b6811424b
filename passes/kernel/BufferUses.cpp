// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses of buffers and weights.
#include "passes/kernel/BufferUses.h"
#include "passes/Remarks.h"

using namespace mlir;
using namespace transom;

Operation *transom::onlyReader(Value buffer) {
  if (!buffer.getDefiningOp<kern::AllocOp>())
    return nullptr;
  Operation *reader = nullptr;
  for (Operation *user : buffer.getUsers()) {
    auto op = dyn_cast<kern::BufferOp>(user);
    if (!op)
      return nullptr;
    if (!llvm::is_contained(op.readBuffers(), buffer))
      continue;
    if (reader && reader != user)
      return nullptr;
    reader = user;
  }
  return reader;
}

static void collectReaders(Value buffer,
                           llvm::SetVector<Operation *> &readers) {
  SmallVector<Operation *> users(buffer.getUsers());
  for (Operation *user : llvm::reverse(users)) {
    auto op = dyn_cast<kern::BufferOp>(user);
    if (auto view = dyn_cast<kern::ViewOp>(user))
      collectReaders(view.getResult(), readers);
    else if (!op || llvm::is_contained(op.readBuffers(), buffer))
      readers.insert(user);
  }
}

std::string transom::getBufferReaders(Value buffer, Operation *except) {
  llvm::SetVector<Operation *> readers;
  collectReaders(buffer, readers);
  readers.remove(except);
  return getRemarkText(readers.getArrayRef());
}

std::optional<Activation> transom::getActivation(kern::ElementwiseOp op) {
  Block &block = op.getBody().front();
  if (op.getInputs().size() != 1 || block.getOperations().size() != 2)
    return std::nullopt;
  auto apply = dyn_cast<kern::ApplyOp>(block.front());
  return apply ? std::optional(apply.getKind()) : std::nullopt;
}

void transom::eraseWeight(Value weight) {
  auto argument = dyn_cast<BlockArgument>(weight);
  if (!argument)
    return weight.getDefiningOp()->erase();
  auto body = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  body->getParentOfType<ModuleOp>().walk([&](kern::LayersOp layers) {
    SmallVector<kern::LayerAttr> kept;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      SmallVector<FlatSymbolRefAttr> parameters(layer.getParameters());
      if (layer.getBody().getAttr() == body.getSymNameAttr())
        parameters.erase(parameters.begin() +
                         layers.getParameterIndex(argument));
      kept.push_back(kern::LayerAttr::get(layers.getContext(), layer.getBody(),
                                          parameters));
    }
    layers.setLayers(kept);
  });
  body.eraseArgument(index);
}

WeightUses::WeightUses(ModuleOp module) : symbols(module) {
  module.walk([&](kern::GetWeightOp get) {
    values[get.getWeightAttr().getAttr()].push_back(get.getResult());
  });
  module.walk([&](kern::LayersOp layers) {
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      func::FuncOp body = layers.getBody(layer, symbols);
      for (auto [i, symbol] : llvm::enumerate(layer.getParameters())) {
        Value parameter = body.getArgument(layers.getFirstParameter() + i);
        if (!isa<kern::WeightType>(parameter.getType()))
          continue; // a cache
        parameters[parameter].push_back(symbol.getAttr());
        values[symbol.getAttr()].push_back(parameter);
      }
    }
  });
}

SmallVector<kern::WeightOp> WeightUses::definitions(Value weight) const {
  SmallVector<kern::WeightOp> found;
  auto add = [&](StringRef name) {
    found.push_back(symbols.lookup<kern::WeightOp>(name));
  };
  if (auto get = weight.getDefiningOp<kern::GetWeightOp>())
    add(get.getWeight());
  else
    for (StringAttr name : parameters.lookup(weight))
      add(name.getValue());
  return found;
}

ArrayRef<Value> WeightUses::getValues(kern::WeightOp definition) const {
  auto found = values.find(definition.getSymNameAttr());
  return found == values.end() ? ArrayRef<Value>() : found->second;
}

void WeightUses::retype(
    Value weight, function_ref<kern::WeightType(kern::WeightType)> change) {
  SmallPtrSet<Operation *, 8> seen; // layers may repeat
  for (kern::WeightOp definition : definitions(weight)) {
    if (!seen.insert(definition).second)
      continue;
    kern::WeightType type = change(definition.getType());
    definition.setType(type);
    for (Value value : values.lookup(definition.getSymNameAttr())) {
      value.setType(type);
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument)
        continue;
      auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
      function.setFunctionType(FunctionType::get(
          function.getContext(), argument.getOwner()->getArgumentTypes(), {}));
    }
  }
}

/// True for an operand that reads a weight in any format.
static bool readsAnyFormat(OpOperand &use) {
  if (auto product = dyn_cast<kern::WeightProductOp>(use.getOwner()))
    return use.get() == product.getWeight();
  return isa<kern::EmbeddingOp>(use.getOwner());
}

Operation *WeightUses::setFormat(Value weight, const OperandFormat &format) {
  llvm::SetVector<Value> all;
  all.insert(weight);
  for (size_t i = 0; i < all.size(); ++i)
    for (kern::WeightOp definition : definitions(all[i]))
      for (Value other : getValues(definition))
        all.insert(other);
  for (Value value : all)
    for (OpOperand &use : value.getUses())
      if (!readsAnyFormat(use))
        return use.getOwner();
  for (Value value : all)
    retype(value, [&](kern::WeightType type) {
      auto stored = kern::OperandFormatAttr::get(type.getContext(), format);
      return kern::WeightType::get(type.getContext(), type.getShape(), stored,
                                   type.getLayout(), type.getSplits());
    });
  return nullptr;
}

namespace {
/// Finds the changes on which all readers of their weights agree.
class Agreement {
public:
  Agreement(const WeightUses &uses, ArrayRef<WeightChange> changes)
      : uses(uses), changes(changes), agreed(changes.size(), true) {
    for (auto [i, change] : llvm::enumerate(changes))
      for (const WeightChange::Reader &reader : change.readers)
        planned[reader.op] = {i, &reader};
  }

  SmallVector<bool> find() {
    // If one reader rejects a change, no other reader gets it, and so on.
    bool dropped = true;
    while (dropped) {
      dropped = false;
      for (auto [i, change] : llvm::enumerate(changes))
        if (agreed[i] && !isMadeByAll(change)) {
          agreed[i] = false;
          dropped = true;
        }
    }
    return agreed;
  }

private:
  bool isMadeByAll(const WeightChange &change) {
    return llvm::all_of(change.readers, [&](const WeightChange::Reader &own) {
      return llvm::all_of(own.op->getOpOperands(), [&](OpOperand &operand) {
        if (!isa<kern::WeightType>(operand.get().getType()))
          return true;
        SmallVector<kern::WeightOp> definitions =
            uses.definitions(operand.get());
        for (kern::WeightOp definition : definitions)
          for (Value value : uses.getValues(definition))
            for (OpOperand &use : value.getUses())
              if (!makesSame(own, operand, use))
                return false;
        return !definitions.empty();
      });
    });
  }

  /// Whether the reader in another use needs the same change to the weight.
  bool makesSame(const WeightChange::Reader &own, OpOperand &operand,
                 OpOperand &use) {
    auto found = planned.find(use.getOwner());
    return found != planned.end() && agreed[found->second.first] &&
           found->second.second->kind == own.kind &&
           use.getOperandNumber() == operand.getOperandNumber();
  }

  const WeightUses &uses;
  ArrayRef<WeightChange> changes;
  SmallVector<bool> agreed;
  DenseMap<Operation *, std::pair<size_t, const WeightChange::Reader *>>
      planned;
};
} // namespace

SmallVector<bool> transom::findAgreedChanges(const WeightUses &uses,
                                             ArrayRef<WeightChange> changes) {
  return Agreement(uses, changes).find();
}
