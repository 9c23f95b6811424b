// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the project's passes and pipelines known to command lines.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace transom {

/// Adds the dialects of the project and those that lowering makes.
void registerTransomDialects(mlir::DialectRegistry &registry);

/// Registers all passes of the project, and a pipeline `transom-NAME` for each
/// stage that has passes, with the option `disable=PASS,...`.
void registerTransomPasses();

} // namespace transom
