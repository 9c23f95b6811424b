// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shrinks a model's widths: all operations, layers and weights stay, all sizes
// are replaced.
#pragma once
#include "compiler/verify/SizeSolver.h"
#include "compiler/verify/TensorShapes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace transom {

/// A model with smaller sizes.
struct ShrunkModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TensorShapes::Map shapes; ///< for its file tensors
  SizeMap sizes;
  std::map<int64_t, std::string> names; ///< for sizes
};

/// Shrinks an attn module from the importer; `groups` are the quantization
/// group sizes in the compile options. The error specifies why no smaller sizes
/// exist, or which operation does not support them.
Result<ShrunkModel> shrinkModule(mlir::ModuleOp module,
                                 const TensorShapes::Map &shapes,
                                 const std::set<int64_t> &groups,
                                 const SizeRules &rules);

/// Multiplications by weights per token, and elements in all weights.
struct WeightWork {
  uint64_t products = 0, elements = 0;
};
WeightWork countWeightWork(mlir::ModuleOp module);

} // namespace transom
