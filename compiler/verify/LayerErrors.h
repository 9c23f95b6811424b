// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares what the layers of an imported model compute with tensors that
// another library wrote, for `transom verify MODEL --expect`. The tool prints
// the result without LLVM.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// What to compare.
struct ExpectOptions {
  std::string model;
  /// A safetensors file with the inputs of a call by their names, and results
  /// of modules by their paths: `encoder.layer.0`, [batch, seq, hidden] each.
  std::string file;
  /// A result differs if an element is off by more than this times the largest
  /// expected element.
  double tolerance = 1e-4;
};

/// The comparison of one module's result.
struct LayerError {
  std::string path;   ///< of the module, as the file names it
  double largest = 0; ///< expected element, by size
  double error = 0;   ///< the largest |computed - expected|
  int64_t index = 0;  ///< of that element among those expected, row-major
  double expected = 0, computed = 0;
  bool differs = false;
};

/// The comparison of all results of a file, in the order of execution.
struct LayerErrors {
  std::string model, file;
  double tolerance = 0;
  std::vector<LayerError> layers;
  /// Tensors of the file that are no input and no module of the model.
  std::vector<std::string> unknown;

  std::string toText() const;
  std::string toJson() const;
  /// The error of the first module that differs, with status `CheckFailed`.
  Result<void> check() const;
};

/// Evaluates the model in float64 on the inputs of the file. `Rejected` for a
/// file without inputs, without a module of the model, or with another shape.
Result<LayerErrors> compareLayers(const ExpectOptions &options);

} // namespace transom
