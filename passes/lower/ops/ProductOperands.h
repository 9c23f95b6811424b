// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all products with a packed weight give to their kernels: rows with their
// scales, and a panel of the weight. Where a product gets its panels and puts
// its results is its own.
#pragma once
#include "passes/lower/ops/LowerOps.h"

namespace transom::lower {

class ProductOperands {
public:
  /// `bias`: what the sums begin with; may be null.
  ProductOperands(PhaseEmitter &e, kern::WeightProductOp op, mlir::Value bias);

  /// How the weight is stored.
  const OperandLowering &getFormat() const { return format; }
  /// The kernel for `length` of K without an epilogue. Only the first block of
  /// K begins with the bias.
  KernelSpec getSpec(int64_t length, bool isFirst) const;
  /// The left operand from `row` and from `from` of K on.
  void setRows(KernelArgs &args, Index row, Index from) const;
  /// The right operand: columns of a panel from `lane` on.
  void setPanel(KernelArgs &args, mlir::Value panel, Index lane,
                Index from) const;

private:
  PhaseEmitter &e;
  mlir::Value input, scales; ///< scales are null without groups
  mlir::Value bias;
  const OperandLowering &format;
};

} // namespace transom::lower
