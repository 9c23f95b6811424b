// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers planned kern modules to the LLVM dialect.
#pragma once
#include "mlir/Pass/Pass.h"

namespace transom {

#define GEN_PASS_DECL
#include "passes/lower/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/lower/Passes.h.inc"

} // namespace transom
