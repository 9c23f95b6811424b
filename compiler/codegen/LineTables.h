// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Debug information: line tables that map phase code to a listing.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Prepares a module in the LLVM dialect so that translate() creates line
/// tables from the locations in the file `listing`. Only phases get them:
/// shared code, such as micro-kernels, does not belong to one line.
void addLineTables(mlir::ModuleOp module, llvm::StringRef listing);

} // namespace transom
