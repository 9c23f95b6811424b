// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The micro-kernels in a lowered module.
#pragma once
#include "compiler/explain/Explanation.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Returns the micro-kernels that phases call, each with its phases. `module`
/// is the result of convert-kern-to-llvm; `manifest` contains the phases.
std::vector<ExplainedKernel> explainKernels(mlir::ModuleOp module,
                                            const std::string &isa,
                                            const Manifest &manifest);

} // namespace transom
