// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor elements that follow from constants alone, such as masks that a model
// computes from a stored triangle. Reads no file data.
#pragma once
#include "passes/graph/GraphSupport.h"
#include <optional>
#include <vector>

namespace transom {

/// The elements from index 0 on, in row-major order. If a tensor size is
/// symbolic or large, `sizes` specifies a leading box: all elements of the
/// constants or, for a triangle, enough to contain its diagonal.
struct ConstantElements {
  llvm::SmallVector<int64_t> sizes;
  std::vector<double> numbers; ///< a bool is 0 or 1
  /// The triangle has more rows or columns than the box.
  bool isCut = false;
  /// Elements come from a nonuniform constant.
  bool isListed = false;
};

/// The elements of `value`. Nullopt if it depends on anything other than
/// `attn.constant` and `triangle` weights, or on an operation that is not
/// evaluated. Evaluated: casts, elementwise arithmetic and logic, selects,
/// masks, slices, transposes, and reshapes that add or drop sizes of 1.
/// Elements outside the box continue the pattern inside it.
std::optional<ConstantElements> getConstantElements(mlir::Value value);

} // namespace transom
