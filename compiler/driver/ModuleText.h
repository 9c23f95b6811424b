// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules as text, with all locations: what `--emit` prints, what is
// read back between stages, and what a reproducer contains.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/Error.h"
#include <string>

namespace transom {

/// The module's text; reading it back gives the same module.
std::string printModule(mlir::ModuleOp module);

/// Reads a module; failure is a bug.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context,
                                                     const std::string &text);

/// Writes text to a new file in the folder for temporary files; its path,
/// empty when it cannot be written.
std::string writeReproducer(const std::string &text);

/// Writes a file that appears complete or not at all.
Result<void> writeTextFile(const std::string &path, const std::string &text);

} // namespace transom
