// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MLIR says while a module is read or passes run, as one of our errors.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include "runtime/base/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// Collects the errors of a context while it lives; nothing is printed.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);
  /// The first error in one line that begins with the location of the model;
  /// the others are notes. `what` is the message if MLIR gave none.
  Error error(Status status, const std::string &what) const;
  /// Where the first error is; nothing without an error.
  std::optional<mlir::Location> getLocation() const { return location; }

private:
  std::vector<std::string> messages;
  std::optional<mlir::Location> location;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace transom
