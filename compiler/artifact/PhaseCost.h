// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of running a phase, in the entry's symbols: input to the roofline
// limits and the profile in `transom bench`.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom {

/// The cost of one phase run.
struct PhaseCost {
  Polynomial flops;     ///< floating-point operations
  Polynomial bf16Flops; ///< bf16 multiplications among `flops`
  Polynomial int8Flops; ///< integer multiplications among `flops`
  Polynomial bytes;     ///< activations and cache, read and written
  /// Weights that are read as a whole. Tables for row gathers do not count.
  llvm::SmallVector<mlir::Value> weights;
};

/// Returns the sum over the operations in a phase.
PhaseCost getCost(kern::PhaseOp phase);

} // namespace transom
