// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the dialects, passes and pipelines of the project.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace transom {

/// Adds the dialects of the project and those that they are lowered to.
void registerTransomDialects(mlir::DialectRegistry &registry);

/// Registers all passes of the project, and a pipeline `transom-NAME` for each
/// stage that has passes, where NAME is that of `--emit`. Options of a
/// pipeline: `disable=PASS,...`, `backend=native|onednn`, `isa=NAME`.
void registerTransomPasses();

} // namespace transom
