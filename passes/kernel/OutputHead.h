// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which weights are those of the output head, a part of
// `kern-choose-precision`.
#pragma once
#include "passes/kernel/BufferUses.h"
#include "llvm/ADT/DenseSet.h"

namespace transom {

/// The definitions of the weights of the last products of entries: what they
/// write reaches a result without another product, a norm, or a residual.
/// Those that make logits are among them.
llvm::DenseSet<mlir::Operation *> findOutputHeads(mlir::ModuleOp module,
                                                  const WeightUses &uses);

} // namespace transom
