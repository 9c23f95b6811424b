// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the operations, operands and attributes in two modules, ignoring
// numeric values.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace transom {

/// A module's text without its remarks; each number, and each list of numbers,
/// is a `~`.
std::string printStructure(mlir::ModuleOp module);

/// The first difference between two such texts, `'A', not 'B'`; empty if they
/// are equal.
std::string findStructureDifference(const std::string &a, const std::string &b);

} // namespace transom
