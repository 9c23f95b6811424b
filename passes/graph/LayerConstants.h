// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers that differ in constants alone, which share a body once the constants
// are weights.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace transom {

/// Replaces finite f32 constants by weights where operations of the same name
/// and place, up to numbers in their module paths, read constants that differ.
void shareConstants(mlir::func::FuncOp entry, mlir::SymbolTable &symbols);

} // namespace transom
