// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module statistics between two passes.
#pragma once
#include "compiler/explain/Explanation.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Counts operations, weights and buffers in an attn or kern module, and the
/// cost of calling its entries. Amounts have no values yet. Modules in the LLVM
/// dialect have only operations and functions.
ModuleSummary summarizeModule(mlir::ModuleOp module);

} // namespace transom
