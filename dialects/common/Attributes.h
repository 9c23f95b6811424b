// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Discardable attributes by name.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include <optional>

namespace transom {

/// Returns an integer from attributes, which may be null; nullopt if it is
/// absent.
inline std::optional<int64_t> getInteger(mlir::DictionaryAttr attributes,
                                         llvm::StringRef name) {
  auto number = attributes ? attributes.getAs<mlir::IntegerAttr>(name)
                           : mlir::IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

} // namespace transom
