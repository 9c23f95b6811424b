// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text form of activation functions in attributes of the dialects.
#pragma once
#include "mlir/IR/OpImplementation.h"
#include "runtime/base/Activation.h"
#include "llvm/ADT/StringExtras.h"

namespace transom {

/// The name of an activation; the error lists the names that there are.
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
