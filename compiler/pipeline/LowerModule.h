// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a planned kern module to one LLVM dialect module per instruction set.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <string>

namespace transom {

struct PassInfo;

/// Callbacks for lowerModule(); both may be empty.
struct LoweringEvents {
  /// Called with the module before a pass.
  std::function<void(const PassInfo &, mlir::ModuleOp)> willRun;
  /// Called with the module after a pass; returning false stops the lowering.
  std::function<bool(const PassInfo &, mlir::ModuleOp)> passDone;
};

/// Lowers a copy of a planned kern module to the LLVM dialect for an
/// instruction set. On failure a diagnostic is emitted. The module itself is
/// not changed.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerModule(mlir::ModuleOp module, const std::string &isa,
            const LoweringEvents &events = {});
/// Returns the pass count in lowerModule().
uint64_t getNumLowerPasses();

} // namespace transom
