// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which micro-kernels the code of phases calls.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace transom {

/// The code of a phase.
struct PhaseKernels {
  std::string symbol;
  /// Sorted. Of kernels that differ in rows only, the one with the most.
  std::vector<std::string> kernels;
};

/// The phases of a module that `convert-kern-to-llvm` has made, in its order.
std::vector<PhaseKernels> findPhaseKernels(mlir::ModuleOp code);

} // namespace transom
