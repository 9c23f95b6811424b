// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes that operations write during a call (`kern.bounded_size`), and
// their bounds.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace transom::kern {

/// A module's bounded sizes.
class SizeBounds {
public:
  explicit SizeBounds(mlir::ModuleOp module);

  bool isEmpty() const { return bounds.empty(); }
  /// The bounds by name.
  const std::map<std::string, Polynomial> &getBounds() const { return bounds; }
  /// `size` with each bounded size replaced by its bound. It is an upper bound
  /// if no coefficient in `size` is negative.
  Polynomial getBound(const Polynomial &size) const;
  /// The bounded sizes in a buffer type.
  std::vector<std::string> getUsed(BufferType type) const;
  /// The bounded sizes whose values an operation reads: all in its buffers'
  /// types, except the size that it writes.
  std::vector<std::string> getUsed(BufferOp op) const;

private:
  std::map<std::string, Polynomial> bounds;
};

} // namespace transom::kern
