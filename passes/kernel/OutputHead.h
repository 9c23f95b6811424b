// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the output head weights, for `kern-choose-precision`.
#pragma once
#include "passes/kernel/BufferUses.h"
#include "llvm/ADT/DenseSet.h"

namespace transom {

/// The weight definitions of the last GEMMs in each entry: their output reaches
/// a result without another GEMM, a norm, or a residual. GEMMs that compute
/// logits are included.
llvm::DenseSet<mlir::Operation *> findOutputHeads(mlir::ModuleOp module,
                                                  const WeightUses &uses);

} // namespace transom
