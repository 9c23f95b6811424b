// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of heads that one worker has in a product and in the attention after
// it, so that short calls need no barrier between both.
#pragma once
#include "passes/Remarks.h"

namespace transom {

/// Gives the phases of a module their `head_ranges`, and reports which phases
/// of an attention without a cache get them and why others do not.
void setHeadRanges(mlir::ModuleOp module, Remarks &remarks);

} // namespace transom
