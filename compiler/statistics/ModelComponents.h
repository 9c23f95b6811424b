// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assigns each GEMM and each weight to a Transformer component. The components
// follow from the data flow, not from names.
#pragma once
#include "dialects/attn/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <string>
#include <tuple>

namespace transom {

/// A Transformer component.
enum class Component {
  Embedding, ///< tables for tokens, positions and types; GEMMs before layers
  Query,
  Key,
  Value,
  QueryKeyValue, ///< one GEMM for two or three of them
  Output,        ///< the GEMM after attention
  Mlp,           ///< other GEMMs in a layer
  Norm,
  Head,      ///< GEMMs after the last layer
  Bias,      ///< bias vectors, except in norms
  Attention, ///< scores and weighted sums of values: without weights
  Other,     ///< position biases and all other weights
};

inline constexpr size_t numComponents = 12;

/// Returns the component's name in reports, such as `attention_query`.
const char *getComponentName(Component component);

/// A layer in a model: `encoder.layer`, 3.
struct LayerId {
  std::string stack;
  int64_t index = -1; ///< -1: not in a layer

  bool isLayer() const { return index >= 0; }
  bool operator<(const LayerId &other) const {
    return std::tie(stack, index) < std::tie(other.stack, other.index);
  }
};

/// Returns the layer for a module path such as `encoder.layer.3.output`: the
/// first integer component is the layer index.
LayerId getLayerId(llvm::StringRef modulePath);

/// The components of GEMMs and weights in an attn module, as imported: layers
/// are not outlined.
class ModelComponents {
public:
  explicit ModelComponents(mlir::ModuleOp module);

  /// Returns an operation's component; `Other` for operations without a matmul.
  Component getComponent(mlir::Operation *op) const;
  /// Returns the component for an `attn.weight` by name. A table that both the
  /// embedding and the head use belongs to the embedding.
  Component getComponent(llvm::StringRef weight) const;
  /// Returns true if the embedding and the head share a weight.
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
