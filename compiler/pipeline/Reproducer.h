// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reproducer: a module and the passes that fail on it.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/base/Error.h"
#include <string>

namespace transom {

/// A module with a pipeline in its metadata, as MLIR writes it for a failing
/// pass.
struct Reproducer {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The passes as text: `builtin.module(attn-fuse-attention)`.
  std::string pipeline;
};

/// Reads a file. `Unavailable` for a file that cannot be read, `Rejected` for a
/// file that is not a module or has no pipeline.
Result<Reproducer> readReproducer(mlir::MLIRContext &context,
                                  const std::string &path);

/// Prints the module with a pipeline in its metadata.
std::string printReproducer(mlir::ModuleOp module, llvm::StringRef pipeline);

/// Runs the pipeline on a copy of the module. Returns the first error, or an
/// empty string on success.
std::string getFailure(mlir::ModuleOp module, llvm::StringRef pipeline);

} // namespace transom
