// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that prove that a planted bug changes nothing, each checked on the IR.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "test/mutation/Mutations.h"

namespace transom::testing {

/// Returns true if the order between two operands does not matter: in a
/// commutative attn or arith operation, or in a region in which two inputs
/// commute.
bool isCommutative(mlir::Operation *op);

/// Returns the reason why a mutant is the original function, or an empty string
/// if no rule applies.
std::string getEquality(mlir::ModuleOp mutant, const Planted &planted);

} // namespace transom::testing
