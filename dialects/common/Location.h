// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations: the location of an operation is the module path of the model as
// Hugging Face prints it over the file and JSON pointer it came from, and
// stays with whatever passes make of it.
#pragma once
#include "mlir/IR/Location.h"
#include <string>

namespace transom {

/// A location: the module path (`encoder.layer.0.attention.self`) over where it
/// was described (`config.json`, `/num_hidden_layers`).
mlir::Location makeLocation(mlir::MLIRContext *context, llvm::StringRef path,
                            llvm::StringRef file, llvm::StringRef jsonPointer);

/// The module path of a location; of a fused location the common form, with
/// differing layer numbers as a range: `encoder.layer.{0-11}.attention.self`.
/// Empty when the location is unknown.
std::string getModulePath(mlir::Location location);

/// The file and the JSON pointer in it that something was described at; empty
/// where the location does not know them.
struct Origin {
  std::string file, pointer;
};

/// The first origin of a location.
Origin findOrigin(mlir::Location location);

/// `file: /json/pointer` where the location knows it, else empty.
std::string getOrigin(mlir::Location location);

/// One location for what replaces operations at these locations.
mlir::Location fuseLocations(mlir::MLIRContext *context,
                             llvm::ArrayRef<mlir::Location> locations);

/// True when `getModulePath` has an answer.
bool hasModulePath(mlir::Location location);

} // namespace transom
