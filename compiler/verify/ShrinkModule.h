// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same model with smaller widths: every operation, layer and weight of it,
// with all sizes replaced.
#pragma once
#include "compiler/verify/SizeSolver.h"
#include "compiler/verify/TensorShapes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace transom {

/// A model of smaller sizes.
struct ShrunkModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TensorShapes::Map shapes; ///< of its file tensors
  SizeMap sizes;
  std::map<int64_t, std::string> names; ///< of sizes
};

/// Shrinks a module of attn as the importer makes it; `groups` are the group
/// sizes in which the compile quantizes weights. An error that says why where
/// no smaller sizes are found, or an operation does not take them.
Result<ShrunkModel> shrinkModule(mlir::ModuleOp module,
                                 const TensorShapes::Map &shapes,
                                 const std::set<int64_t> &groups,
                                 const SizeRules &rules);

/// Products with weights that one token takes, and elements of all weights.
struct WeightWork {
  uint64_t products = 0, elements = 0;
};
WeightWork countWeightWork(mlir::ModuleOp module);

} // namespace transom
