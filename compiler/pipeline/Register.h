// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the project's dialects, passes and pipelines.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace transom {

/// Adds the project's dialects and the dialects that they are lowered to.
void registerTransomDialects(mlir::DialectRegistry &registry);

/// Registers all project passes, and a pipeline `transom-NAME` for each stage
/// with passes, where NAME is the stage name in `--emit`. Pipeline options:
/// `disable=PASS,...`, `backend=native|onednn`, `isa=NAME`.
void registerTransomPasses();

} // namespace transom
