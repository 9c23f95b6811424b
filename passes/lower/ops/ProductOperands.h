// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel operands that all GEMMs with a packed weight have in common: rows
// with their scales, and a weight panel. Each lowering chooses its panels and
// outputs.
#pragma once
#include "passes/lower/ops/LowerOps.h"

namespace transom::lower {

class ProductOperands {
public:
  /// `bias`: initial value of the sums; may be null.
  ProductOperands(PhaseEmitter &e, kern::WeightProductOp op, mlir::Value bias);

  /// The weight's lowering.
  const OperandLowering &getFormat() const { return format; }
  /// The kernel for `length` elements along K, without an epilogue. Only the
  /// first K block begins with the bias.
  KernelSpec getSpec(int64_t length, bool isFirst) const;
  /// Sets the left operand from row `row` and K index `from` on.
  void setRows(KernelArgs &args, Index row, Index from) const;
  /// Sets the right operand: panel columns from `lane` on.
  void setPanel(KernelArgs &args, mlir::Value panel, Index lane,
                Index from) const;

private:
  PhaseEmitter &e;
  mlir::Value input, scales; ///< scales are null without groups
  mlir::Value bias;
  const OperandLowering &format;
};

} // namespace transom::lower
