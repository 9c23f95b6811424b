// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of tensors that follow from constants alone, such as masks that
// a model makes of a stored triangle. Reads no data of files.
#pragma once
#include "passes/graph/GraphSupport.h"
#include <optional>
#include <vector>

namespace transom {

/// Elements of a tensor from index 0 on, in row-major order. Where a size of
/// the tensor is a symbol or large, `sizes` says how many elements are here:
/// all that constants have, or, of a triangle, enough to see its diagonal.
struct ConstantElements {
  llvm::SmallVector<int64_t> sizes;
  std::vector<double> numbers; ///< a bool is 0 or 1
  /// A triangle has more rows or columns than are here.
  bool isCut = false;
  /// Elements come from a constant whose elements differ.
  bool isListed = false;
};

/// The elements of `value`; nothing if it depends on anything but
/// `attn.constant` and weights that are a `triangle`, or on operations that are
/// not followed: casts, elementwise arithmetic and logic, choices, masks,
/// slices, transposes, and reshapes that add or drop sizes of 1. Elements that
/// are not here differ from row to row and column to column as those that are.
std::optional<ConstantElements> getConstantElements(mlir::Value value);

} // namespace transom
