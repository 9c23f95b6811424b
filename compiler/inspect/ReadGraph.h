// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts an attn module to a graph for drawing.
#pragma once
#include "compiler/inspect/ModelGraph.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Returns the graph for a module, as imported. Weights are merged into the
/// operations that read them, and layout changes into the edges. Among repeated
/// layers, only the first ones are drawn.
ModelGraph readGraph(mlir::ModuleOp module, const std::string &title);

} // namespace transom
