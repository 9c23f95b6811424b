// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Truncates a model to fewer layers so that a check takes seconds: of
// consecutive equal layers only three stay.
#pragma once
#include "compiler/verify/Certificate.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Removes layers from an imported attn module. Among equal layers the first,
/// the second and the last stay, so the module retains each layer kind, each
/// pair of consecutive kinds, the model's first and last layer, and three
/// layers per kind. Layers are equal if they have the same operations and
/// constants; weights may differ. Returns all equal layers, also if none is
/// removed.
std::vector<EqualLayers> cutLayers(mlir::ModuleOp module);

} // namespace transom
