// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules by which a planted bug changes nothing, each checked on the IR.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "test/mutation/Mutations.h"

namespace transom::testing {

/// True where the order of two operands does not matter: of a commutative
/// operation of attn or arith, or of a region in which two inputs commute.
bool isCommutative(mlir::Operation *op);

/// Why a mutant is the function that it was, or empty where no rule says so.
std::string getEquality(mlir::ModuleOp mutant, const Planted &planted);

} // namespace transom::testing
