// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules as text: with all locations for stages that are read back and for
// reproducers, and with limited line width for human readers.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom {

/// Prints the module; reading it back gives the same module.
std::string printModule(mlir::ModuleOp module);

/// Prints the module with at most 100 columns per line where lines can be
/// broken. Without locations, reading it back gives a module without module
/// paths.
std::string printForReading(mlir::ModuleOp module, bool withLocations);

/// Breaks long lines at spaces, which have no meaning in MLIR assembly;
/// continuation lines are indented by four more columns. `firstLines` receives,
/// for each line in `text`, the index of its first line in the result.
std::string wrapLines(llvm::StringRef text,
                      std::vector<unsigned> *firstLines = nullptr);

/// Reads a module; a failure is an internal error.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context,
                                                     const std::string &text);

/// Writes text to a new file in the temporary folder. Returns its path, or an
/// empty string if it cannot be written.
std::string writeReproducer(const std::string &text);

} // namespace transom
