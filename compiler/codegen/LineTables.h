// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Debug information: line tables that map the code of phases to a listing.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Prepares a module in the LLVM dialect so that translate() makes line tables
/// of the locations in the file `listing`. Phases get them. Code that phases
/// share, micro-kernels above all, is of no one line and gets none.
void addLineTables(mlir::ModuleOp module, llvm::StringRef listing);

} // namespace transom
