// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a norm into the product whose rows it normalizes.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/Builders.h"

namespace transom {

/// Replaces a product by one, at the builder's place, that normalizes its
/// rows as `norm` does, with its weights and to its results. Counters, one a
/// row, are zeroed at the start of the block and tell which worker completes
/// rows.
kern::GemmOp withNorm(mlir::OpBuilder &b, kern::GemmOp gemm, kern::NormOp norm);

} // namespace transom
