// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of heads that one worker computes in a GEMM and in the attention after
// it, so that short calls need no barrier between them.
#pragma once
#include "passes/Remarks.h"

namespace transom {

/// Sets `head_ranges` on phases, and reports which attention phases without a
/// cache have them, or the reason why not.
void setHeadRanges(mlir::ModuleOp module, Remarks &remarks);

} // namespace transom
