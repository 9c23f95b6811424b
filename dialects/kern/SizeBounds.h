// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes that operations write during a call (`kern.bounded_size`), and what
// is known of them before it.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace transom::kern {

/// The bounded sizes of a module.
class SizeBounds {
public:
  explicit SizeBounds(mlir::ModuleOp module);

  bool isEmpty() const { return bounds.empty(); }
  /// The bounds by name.
  const std::map<std::string, Polynomial> &getBounds() const { return bounds; }
  /// `size` with each bounded size replaced by its bound. It is not below the
  /// size if no coefficient of `size` is negative.
  Polynomial getBound(const Polynomial &size) const;
  /// The bounded sizes in the type of a buffer.
  std::vector<std::string> getUsed(BufferType type) const;
  /// The bounded sizes whose values an operation reads: those in the types of
  /// its buffers, without the one that it writes.
  std::vector<std::string> getUsed(BufferOp op) const;

private:
  std::map<std::string, Polynomial> bounds;
};

} // namespace transom::kern
