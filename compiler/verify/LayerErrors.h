// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares layer results in an imported model with tensors from another
// library, for `transom verify MODEL --expect`. The tool prints the result
// without LLVM.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace transom {

/// Inputs to the comparison.
struct ExpectOptions {
  std::string model;
  /// A safetensors file with call inputs by name, and module results by path:
  /// `encoder.layer.0`, [batch, seq, hidden] each.
  std::string file;
  /// A result differs if an element error exceeds this tolerance times the
  /// largest expected element.
  double tolerance = 1e-4;
};

/// The comparison for one module.
struct LayerError {
  std::string path;   ///< module path, as in the file
  double largest = 0; ///< max |expected|
  double error = 0;   ///< max |computed - expected|
  int64_t index = 0; ///< row-major index of this element in the expected tensor
  double expected = 0, computed = 0;
  bool differs = false;
};

/// The comparison for all results in a file, in execution order.
struct LayerErrors {
  std::string model, file;
  double tolerance = 0;
  std::vector<LayerError> layers;
  /// File tensors that are neither model inputs nor module results.
  std::vector<std::string> unknown;

  std::string toText() const;
  std::string toJson() const;
  /// The error for the first module that differs, with status `CheckFailed`.
  Result<void> check() const;
};

/// Evaluates the model in float64 on the inputs in the file. `Rejected` for a
/// file without inputs, without any module in the model, or with another shape.
Result<LayerErrors> compareLayers(const ExpectOptions &options);

} // namespace transom
