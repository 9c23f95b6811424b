// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a planned kern module to one LLVM-dialect module per instruction set.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <string>

namespace transom {

struct PassInfo;

/// Lowers a copy of a planned kern module to the LLVM dialect for an
/// instruction set. On failure a diagnostic is emitted. The module itself is
/// not changed. `passDone` is called with the copy after each pass; false stops
/// the lowering.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> lowerModule(
    mlir::ModuleOp module, const std::string &isa,
    const std::function<bool(const PassInfo &, mlir::ModuleOp)> &passDone =
        nullptr);
/// The number of passes that lowerModule() runs.
uint64_t getNumLowerPasses();

} // namespace transom
