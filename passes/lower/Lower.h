// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From planned phases to the LLVM dialect, for one instruction set at a time.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/InstructionSet.h"

namespace transom::lower {

/// The LLVM-dialect module of a planned kern module for one instruction set:
/// a function `transom.p.<isa>.<phase>` for each phase of `phaseNames`, in
/// their order, and the micro-kernels that they call. The input is not changed.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerToLLVM(mlir::ModuleOp module, const InstructionSet &isa);

/// The names of all phases of a module, entries and layer bodies in order,
/// without those that a library does.
llvm::SmallVector<std::string> phaseNames(mlir::ModuleOp module);

/// Name of the function of a phase.
std::string phaseSymbol(const InstructionSet &isa, llvm::StringRef phase);

/// Dialects that lowering makes operations of.
void registerLoweringDialects(mlir::DialectRegistry &registry);

} // namespace transom::lower
