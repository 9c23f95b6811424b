// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attentions that differ only in their scale, such as models that divide by the
// layer number. Equal scales make their layers equal.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Remarks.h"

namespace transom {

/// Gives each attention in an entry the scale of the first attention that is
/// equal otherwise. Rows in the query's weight and bias absorb the scale ratio.
/// An attention remains as it is if its query does not come from a projection,
/// or if the weight has other readers.
void equalizeScales(mlir::func::FuncOp entry, mlir::SymbolTable &symbols,
                    Remarks &remarks);

} // namespace transom
