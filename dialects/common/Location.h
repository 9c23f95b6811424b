// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations: an operation's location is its module path in Hugging Face
// notation, fused with the file and JSON pointer that describe it. Passes keep
// it on the operations they create.
#pragma once
#include "mlir/IR/Location.h"
#include <string>

namespace transom {

/// A location: the module path (`encoder.layer.0.attention.self`) and the
/// description's file and pointer (`config.json`, `/num_hidden_layers`).
mlir::Location makeLocation(mlir::MLIRContext *context, llvm::StringRef path,
                            llvm::StringRef file, llvm::StringRef jsonPointer);

/// The module path in a location; for a fused location the common form, with
/// differing layer numbers as a range: `encoder.layer.{0-11}.attention.self`.
/// Empty if the location is unknown.
std::string getModulePath(mlir::Location location);

/// The file and the JSON pointer where something is described; empty if the
/// location does not contain them.
struct Origin {
  std::string file, pointer;
};

/// The first origin in a location.
Origin findOrigin(mlir::Location location);

/// `file: /json/pointer` if the location contains it, else empty.
std::string getOrigin(mlir::Location location);

/// Returns one location for the replacement of operations at these locations.
mlir::Location fuseLocations(mlir::MLIRContext *context,
                             llvm::ArrayRef<mlir::Location> locations);

/// True if `getModulePath` returns a path.
bool hasModulePath(mlir::Location location);

} // namespace transom
