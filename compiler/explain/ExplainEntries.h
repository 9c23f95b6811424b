// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a planned kern module: phases, buffers and costs.
#pragma once
#include "compiler/explain/Explanation.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Where an operation comes from.
ModelPlace getPlace(mlir::Location location);

/// The entries that have code, in the order of the manifest, which is that of
/// the module. Amounts have no values yet.
std::vector<ExplainedEntry> explainEntries(mlir::ModuleOp module,
                                           const Manifest &manifest);

/// The packed weights of a planned module.
std::vector<ExplainedWeight> explainWeights(mlir::ModuleOp module);

} // namespace transom
