// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textual form for activation functions in dialect attributes.
#pragma once
#include "mlir/IR/OpImplementation.h"
#include "runtime/base/Activation.h"
#include "llvm/ADT/StringExtras.h"

namespace transom {

/// Parses an activation name; the error lists the supported names.
inline mlir::FailureOr<Activation> parseActivation(mlir::AsmParser &parser) {
  llvm::StringRef name;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return mlir::failure();
  if (std::optional<Activation> kind =
          parseActivation(std::string_view(name.data(), name.size())))
    return *kind;
  return parser.emitError(at)
         << "unsupported activation '" << name
         << "'; supported: " << llvm::join(getActivationNames(), ", ");
}

} // namespace transom
