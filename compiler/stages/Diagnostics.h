// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts MLIR diagnostics from parsing and passes to an Error.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include "runtime/base/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// Collects a context's errors during its lifetime; nothing is printed.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);
  /// Returns the first error as one line that begins with the model location;
  /// the others are notes. `what` is the message if MLIR emitted none.
  Error error(Status status, const std::string &what) const;
  /// The location of the first error, or nullopt.
  std::optional<mlir::Location> getLocation() const { return location; }

private:
  std::vector<std::string> messages;
  std::optional<mlir::Location> location;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace transom
