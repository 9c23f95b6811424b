// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run of a phase costs, in the symbols of its entry: the figures for
// the limits and the profile of `transom bench`.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom {

/// The cost of one run of a phase.
struct PhaseCost {
  Polynomial flops;     ///< floating-point operations
  Polynomial bf16Flops; ///< those of them that multiply bf16
  Polynomial int8Flops; ///< those of them that multiply whole numbers
  Polynomial bytes;     ///< activations and cache that it reads and writes
  /// Weights that it reads whole. Tables from which it gathers rows do not
  /// count.
  llvm::SmallVector<mlir::Value> weights;
};

/// Adds up the operations of a phase.
PhaseCost getCost(kern::PhaseOp phase);

} // namespace transom
