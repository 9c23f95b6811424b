// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses a norm into the GEMM whose rows it normalizes.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/Builders.h"

namespace transom {

/// Replaces a GEMM by one at the insertion point that also normalizes its rows
/// as `norm` does, with its weights and results. Counters, one per row, are
/// zeroed at the start of the block; they show which worker completes the rows.
kern::GemmOp withNorm(mlir::OpBuilder &b, kern::GemmOp gemm, kern::NormOp norm);

} // namespace transom
