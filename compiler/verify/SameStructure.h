// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two modules have the same operations, operands and attributes, but
// for the values of numbers.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace transom {

/// The text of a module without its remarks, in which each number, and each
/// list of numbers, is a `~`.
std::string printStructure(mlir::ModuleOp module);

/// The first line in which two such texts differ, `'A', not 'B'`; empty where
/// they are equal.
std::string findStructureDifference(const std::string &a, const std::string &b);

} // namespace transom
