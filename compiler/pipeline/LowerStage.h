// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage behind the passes on modules: one LLVM-dialect module for each
// instruction set.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace transom {

/// The LLVM-dialect module of a planned kern module for the instruction set of
/// that name; fails after a diagnostic. The input is not changed.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerForIsa(mlir::ModuleOp module, llvm::StringRef isa);

} // namespace transom
