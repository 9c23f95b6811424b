// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The micro-kernels that phase code calls.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace transom {

/// The code for a phase.
struct PhaseKernels {
  std::string symbol;
  /// Sorted. Among kernels that differ in rows only, the one with the most
  /// rows.
  std::vector<std::string> kernels;
};

/// Returns the phases in a module created by `convert-kern-to-llvm`, in module
/// order.
std::vector<PhaseKernels> findPhaseKernels(mlir::ModuleOp code);

} // namespace transom
