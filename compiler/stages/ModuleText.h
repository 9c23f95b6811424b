// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules as text: with all locations for the stages that are read back and for
// reproducers, and in lines of limited width for people.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom {

/// The module's text; reading it back gives the same module.
std::string printModule(mlir::ModuleOp module);

/// The module's text in lines of at most 100 columns where they can be broken.
/// Without locations, reading it back gives a module without module paths.
std::string printForReading(mlir::ModuleOp module, bool withLocations);

/// Breaks lines that are too wide at spaces, which mean nothing in MLIR's
/// assembly; the rest of a line is indented by four more columns. `firstLines`
/// gets for each line of `text` the number of its first line in the result.
std::string wrapLines(llvm::StringRef text,
                      std::vector<unsigned> *firstLines = nullptr);

/// Reads a module; a failure is a bug of ours.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context,
                                                     const std::string &text);

/// Writes text to a new file in the folder for temporary files; its path,
/// empty when it cannot be written.
std::string writeReproducer(const std::string &text);

} // namespace transom
