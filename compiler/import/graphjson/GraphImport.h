// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports a graph.json.
#pragma once
#include "compiler/import/Import.h"

namespace transom {

/// Imports the graph in the file `info.baseFile` in `info.folder`. Fills in
/// `info`.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importGraph(mlir::MLIRContext &context, ImportInfo &info);

} // namespace transom
