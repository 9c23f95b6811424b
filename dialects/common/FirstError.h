// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first error that MLIR reports, as a string.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <optional>
#include <string>

namespace transom {

/// Records a context's first error during its lifetime; prints nothing.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (!location &&
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
            text = diagnostic.str();
            location = diagnostic.getLocation();
          }
          return mlir::success();
        }) {}

  std::string text; ///< empty: no error
  std::optional<mlir::Location> location;

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace transom
