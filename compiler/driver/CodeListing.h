// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The listing that machine code is mapped to: the planned kern module, one
// operation a line.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace transom {

/// A planned kern module as a file that debuggers show.
struct CodeListing {
  std::string file; ///< its name, as line tables have it
  /// The module; a comment names the location and the origin of an operation.
  std::string text;
  std::vector<std::string> notes; ///< operation and location, by line
  /// A copy of the module; the location of each operation is its line, under
  /// its module path.
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The path of the listing of an output: `model.so.kern.mlir`.
std::string getListingPath(const std::string &output);

/// Lists `module`, which is not changed. `file` has no folder, so that an
/// artifact does not depend on where it is written.
CodeListing makeListing(mlir::ModuleOp module, std::string file);

} // namespace transom
