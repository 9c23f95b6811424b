// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attentions that differ in nothing but their scale, such as those that divide
// by the number of the layer, made equal, so that their layers are.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Remarks.h"

namespace transom {

/// Gives each attention of an entry the scale of the first one that is equal to
/// it otherwise; the quotient of both goes into the rows of the query's weight
/// and bias. One whose query comes from elsewhere, or whose weight has other
/// readers, stays as it is.
void equalizeScales(mlir::func::FuncOp entry, mlir::SymbolTable &symbols,
                    Remarks &remarks);

} // namespace transom
