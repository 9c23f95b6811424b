// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The listing that machine code maps to: the planned kern module, one operation
// per line.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace transom {

/// A planned kern module as a file that debuggers display.
struct CodeListing {
  std::string file; ///< file name in line tables
  /// The module; comments specify each operation's location and origin.
  std::string text;
  std::vector<std::string> notes; ///< operation and location, by line
  /// A copy of the module in which each operation's location is its line, under
  /// its module path.
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Returns the listing path for an output: `model.so.kern.mlir`.
std::string getListingPath(const std::string &output);

/// Lists `module`, which is not changed. `file` has no folder, so that an
/// artifact does not depend on its output path.
CodeListing makeListing(mlir::ModuleOp module, std::string file);

} // namespace transom
