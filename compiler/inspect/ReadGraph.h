// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module of attn to the graph that is drawn of it.
#pragma once
#include "compiler/inspect/ModelGraph.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// The graph of a module as it was imported. Weights are part of the operations
/// that read them, and operations that change only the layout part of the
/// edges. Of layers that repeat, the first ones are shown.
ModelGraph readGraph(mlir::ModuleOp module, const std::string &title);

} // namespace transom
