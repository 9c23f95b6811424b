// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The micro-kernels of a lowered module.
#pragma once
#include "compiler/explain/Explanation.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// The micro-kernels that the phases of a module call, and by which phases.
/// `module` is what convert-kern-to-llvm leaves; `manifest` has the phases.
std::vector<ExplainedKernel> explainKernels(mlir::ModuleOp module,
                                            const std::string &isa,
                                            const Manifest &manifest);

} // namespace transom
