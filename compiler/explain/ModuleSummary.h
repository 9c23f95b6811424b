// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a module between two passes consists of.
#pragma once
#include "compiler/explain/Explanation.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Counts the operations, weights and buffers of a module of attn or kern, and
/// what a call of its entries costs. Amounts have no values yet. A module of
/// the LLVM dialect has operations and functions only.
ModuleSummary summarizeModule(mlir::ModuleOp module);

} // namespace transom
