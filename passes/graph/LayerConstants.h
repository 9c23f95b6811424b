// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers that differ only in constants: they share a body once the constants
// are weights.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace transom {

/// Replaces finite f32 constants by weights if corresponding operations (same
/// name and module path, except for numbers in the path) read different
/// constants.
void shareConstants(mlir::func::FuncOp entry, mlir::SymbolTable &symbols);

} // namespace transom
