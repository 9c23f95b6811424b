// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an entry of a random model as graph.json together with its weights, to
// compare the importer's result with the original module.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace transom::testing {

/// Writes `graph.json` and `model.safetensors` into the folder; the entry is
/// called `run` there. Returns false for a model that graph.json cannot
/// express: infinite constants, finite masks in fused attentions.
bool exportGraph(mlir::ModuleOp module, llvm::StringRef entry,
                 const TensorSource &source, const std::string &folder);

} // namespace transom::testing
