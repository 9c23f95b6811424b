// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs are classified starting from attention: the producers for queries, keys
// and values, the consumer for its result, and the rest by their position.
#include "compiler/statistics/ModelComponents.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace transom;

const char *transom::getComponentName(Component component) {
  static constexpr std::array<const char *, numComponents> names = {
      "embedding",     "attention_query",
      "attention_key", "attention_value",
      "attention_qkv", "attention_output",
      "mlp",           "norm",
      "head",          "bias",
      "attention",     "other"};
  return names[static_cast<size_t>(component)];
}

LayerId transom::getLayerId(StringRef modulePath) {
  StringRef rest = modulePath;
  size_t begin = 0;
  while (!rest.empty()) {
    auto [first, tail] = rest.split('.');
    int64_t index = 0;
    if (begin && !first.getAsInteger(10, index))
      return {modulePath.take_front(begin - 1).str(), index};
    begin += first.size() + 1;
    rest = tail;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Flow of values
//===----------------------------------------------------------------------===//

/// Returns the weight that a value equals, up to layout and type, or null.
static attn::GetWeightOp getWeight(Value value) {
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    if (auto weight = dyn_cast<attn::GetWeightOp>(op))
      return weight;
    if (!isa<attn::ReshapeOp, attn::TransposeOp, attn::CastOp, attn::SliceOp,
             attn::ScaleOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Returns a matmul's weight matrix; null if both operands are activations.
static attn::GetWeightOp getMatrix(Operation *op) {
  if (auto linear = dyn_cast<attn::LinearOp>(op))
    return getWeight(linear.getWeight());
  if (auto matmul = dyn_cast<attn::MatmulOp>(op)) {
    attn::GetWeightOp weight = getWeight(matmul.getRhs());
    return weight ? weight : getWeight(matmul.getLhs());
  }
  return {};
}

static bool isProjection(Operation *op) {
  return isa<attn::LinearOp>(op) || getMatrix(op);
}

/// Returns true for layout changes and elementwise operations.
static bool isPassedThrough(Operation *op) {
  return isa<attn::ReshapeOp, attn::TransposeOp, attn::CastOp, attn::ScaleOp,
             attn::SliceOp, attn::ConcatOp, attn::RopeOp, attn::LayerNormOp,
             attn::RmsNormOp, attn::MaskOp, attn::ActivationOp, attn::MulOp,
             attn::DivOp, attn::WhereOp, attn::GatherRowsOp,
             attn::ScatterRowsOp>(op);
}

/// Returns true for a sum of two activations, as in residual connections.
static bool isResidual(Operation *op) {
  return isa<attn::AddOp>(op) && !getWeight(op->getOperand(0)) &&
         !getWeight(op->getOperand(1));
}

static bool isPassedThroughOrBias(Operation *op) {
  return isPassedThrough(op) || (isa<attn::AddOp>(op) && !isResidual(op));
}

/// Returns true if the value flows to an operation for which `isFound` holds,
/// through operations for which `isPassed` holds.
static bool flowsTo(Value value, llvm::function_ref<bool(Operation *)> isFound,
                    llvm::function_ref<bool(Operation *)> isPassed) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isFound(user))
        return true;
      if (seen.insert(user).second && isPassed(user))
        pending.append(user->result_begin(), user->result_end());
    }
  return false;
}

/// Scores may pass through additive masks.
static bool isPassedOnByScores(Operation *op) {
  return isPassedThrough(op) || isa<attn::AddOp>(op);
}

static bool isSoftmax(Operation *op) { return isa<attn::SoftmaxOp>(op); }

/// Returns true if a value is the softmax of scores, ignoring layout.
static bool comesFromSoftmax(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isSoftmax(op))
      return true;
    if (!isPassedThrough(op))
      return false;
    value = op->getOperand(isa<attn::WhereOp>(op) ? 1 : 0);
  }
  return false;
}

static bool isAttention(Operation *op) {
  if (isa<attn::SdpaOp, attn::CrossSdpaOp>(op))
    return true;
  auto matmul = dyn_cast<attn::MatmulOp>(op);
  return matmul && !getMatrix(op) &&
         (comesFromSoftmax(matmul.getLhs()) ||
          flowsTo(matmul.getResult(), isSoftmax, isPassedOnByScores));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void ModelComponents::markProjections(Value value, Component component) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isProjection(op)) {
      auto [known, isNew] = components.try_emplace(op, component);
      if (!isNew && known->second != component)
        known->second = Component::QueryKeyValue;
    } else if (isa<attn::ConcatOp>(op) || isa<attn::MulOp>(op)) {
      pending.append(op->operand_begin(), op->operand_end());
    } else if (isa<attn::AddOp>(op) && !isResidual(op)) {
      pending.append(op->operand_begin(), op->operand_end());
    } else if (isPassedThrough(op)) {
      pending.push_back(op->getOperand(0));
    }
  }
}

void ModelComponents::markOutput(Value value) {
  flowsTo(
      value,
      [&](Operation *op) {
        if (isProjection(op))
          components.try_emplace(op, Component::Output);
        return false;
      },
      isPassedThroughOrBias);
}

void ModelComponents::findAttention(Operation &op) {
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op)) {
    markProjections(sdpa.getQuery(), Component::Query);
    markProjections(sdpa.getKey(), Component::Key);
    markProjections(sdpa.getValue(), Component::Value);
    markOutput(sdpa.getResult());
  } else if (auto cross = dyn_cast<attn::CrossSdpaOp>(op)) {
    markProjections(cross.getQuery(), Component::Query);
    markOutput(cross.getResult());
  } else if (auto append = dyn_cast<attn::AppendOp>(op)) {
    markProjections(append.getKey(), Component::Key);
    markProjections(append.getValue(), Component::Value);
  } else if (isAttention(&op)) {
    auto matmul = cast<attn::MatmulOp>(op);
    if (comesFromSoftmax(matmul.getLhs())) {
      markProjections(matmul.getRhs(), Component::Value);
      markOutput(matmul.getResult());
    } else {
      markProjections(matmul.getLhs(), Component::Query);
      markProjections(matmul.getRhs(), Component::Key);
    }
  }
  if (isAttention(&op))
    components[&op] = Component::Attention;
}

/// Returns true if a residual connection adds the value, possibly after further
/// GEMMs.
static bool isAddedToResidual(Value value) {
  return flowsTo(value, isResidual, [](Operation *op) {
    return isPassedThroughOrBias(op) || isProjection(op);
  });
}

void ModelComponents::markRest(Block &body) {
  const bool hasAttention =
      llvm::any_of(body, [](Operation &op) { return isAttention(&op); });
  bool isBefore = hasAttention;
  for (Operation &op : body) {
    isBefore = isBefore && !isAttention(&op);
    if (!isProjection(&op) || components.count(&op))
      continue;
    const bool inLayer = getLayerId(getModulePath(op.getLoc())).isLayer();
    Component component = Component::Head;
    if (inLayer || !hasAttention)
      component = Component::Mlp;
    else if (isBefore)
      component = Component::Embedding;
    else if (isAddedToResidual(op.getResult(0)))
      component = Component::Mlp;
    components[&op] = component;
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Returns the component for a weight use outside GEMMs.
static Component getComponentOfUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<attn::EmbeddingOp, attn::GatherOp>(user))
    return Component::Embedding;
  if (isa<attn::LayerNormOp, attn::RmsNormOp>(user))
    return Component::Norm;
  auto type = dyn_cast<RankedTensorType>(use.get().getType());
  const bool isVector = type && type.getRank() <= 1;
  return isVector && isa<attn::LinearOp, attn::AddOp, attn::SubOp>(user)
             ? Component::Bias
             : Component::Other;
}

void ModelComponents::markWeights(ModuleOp module) {
  module.walk([&](attn::GetWeightOp get) {
    SmallVector<Value> pending = {get.getResult()};
    while (!pending.empty())
      for (OpOperand &use : pending.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        const bool isMatrix = getMatrix(user) == get;
        auto linear = dyn_cast<attn::LinearOp>(user);
        // A linear has a bias in addition to its matrix.
        const Component component =
            isMatrix && !(linear && use.get() != linear.getWeight())
                ? components.lookup(user)
                : getComponentOfUse(use);
        if (isa<attn::ReshapeOp, attn::TransposeOp, attn::CastOp, attn::SliceOp,
                attn::ScaleOp>(user)) {
          pending.push_back(user->getResult(0));
          continue;
        }
        // The embedding table may also be a matrix in the head.
        auto [known, isNew] =
            weightComponents.try_emplace(get.getWeight(), component);
        if (isNew || known->second == component)
          continue;
        tiedHead |=
            std::min(known->second, component) == Component::Embedding &&
            std::max(known->second, component) == Component::Head;
        known->second = std::min(known->second, component);
      }
  });
}

ModelComponents::ModelComponents(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    for (Operation &op : function.getBody().front())
      findAttention(op);
    markRest(function.getBody().front());
  }
  markWeights(module);
}

Component ModelComponents::getComponent(Operation *op) const {
  auto known = components.find(op);
  return known == components.end() ? Component::Other : known->second;
}

Component ModelComponents::getComponent(StringRef weight) const {
  auto known = weightComponents.find(weight);
  return known == weightComponents.end() ? Component::Other : known->second;
}
