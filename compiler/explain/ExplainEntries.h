// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries in a planned kern module: phases, buffers and costs.
#pragma once
#include "compiler/explain/Explanation.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Returns an operation's origin in the model.
ModelPlace getPlace(mlir::Location location);

/// Returns the entries with code, in manifest order, which is module order.
/// Amounts have no values yet.
std::vector<ExplainedEntry> explainEntries(mlir::ModuleOp module,
                                           const Manifest &manifest);

/// Returns a planned module's packed weights.
std::vector<ExplainedWeight> explainWeights(mlir::ModuleOp module);

} // namespace transom
