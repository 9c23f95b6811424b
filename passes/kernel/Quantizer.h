// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of whole numbers, a part of `kern-choose-precision`.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Remarks.h"

namespace transom {

/// Gives weights of products that files have as whole numbers a format that
/// holds these, and the others `format`, which is in groups, unless it is null.
/// Quantizes what these products read, each buffer once until it is written
/// again. Returns the number of products.
int64_t quantizeProducts(mlir::ModuleOp module, kern::OperandFormatAttr format,
                         Remarks &remarks);

} // namespace transom
