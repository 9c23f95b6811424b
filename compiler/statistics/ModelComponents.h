// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which component of a Transformer each product and each weight belongs to. The
// components follow from how values flow, not from names.
#pragma once
#include "dialects/attn/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <string>
#include <tuple>

namespace transom {

/// A component of a Transformer.
enum class Component {
  Embedding, ///< tables of tokens, positions and types; products before layers
  Query,
  Key,
  Value,
  QueryKeyValue, ///< one product for two or three of them
  Output,        ///< the product after attention
  Mlp,           ///< the other products of a layer
  Norm,
  Head,      ///< products after the last layer
  Bias,      ///< vectors that are added, except those of norms
  Attention, ///< scores and weighted sums of values: without weights
  Other,     ///< position biases and what else there is
};

inline constexpr size_t numComponents = 12;

/// The name of a component in reports, such as `attention_query`.
const char *getComponentName(Component component);

/// A layer of a model: `encoder.layer`, 3.
struct LayerId {
  std::string stack;
  int64_t index = -1; ///< -1: not in a layer

  bool isLayer() const { return index >= 0; }
  bool operator<(const LayerId &other) const {
    return std::tie(stack, index) < std::tie(other.stack, other.index);
  }
};

/// The layer that a module path such as `encoder.layer.3.output` lies in: the
/// first word that is a number is its index.
LayerId getLayerId(llvm::StringRef modulePath);

/// The components of the products and weights of a module of attn, as it was
/// imported: layers are not outlined.
class ModelComponents {
public:
  explicit ModelComponents(mlir::ModuleOp module);

  /// The component of an operation; `Other` for those that are no products.
  Component getComponent(mlir::Operation *op) const;
  /// The component of an `attn.weight` by its name. A table that both the
  /// embedding and the head use belongs to the embedding.
  Component getComponent(llvm::StringRef weight) const;
  /// True if the embedding and the head share a weight.
  bool hasTiedHead() const { return tiedHead; }

private:
  void findAttention(mlir::Operation &op);
  void markProjections(mlir::Value value, Component component);
  void markOutput(mlir::Value value);
  void markRest(mlir::Block &body);
  void markWeights(mlir::ModuleOp module);

  llvm::DenseMap<mlir::Operation *, Component> components;
  llvm::StringMap<Component> weightComponents;
  bool tiedHead = false;
};

} // namespace transom
