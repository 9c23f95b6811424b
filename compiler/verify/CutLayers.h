// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model with fewer layers, so that checking it takes seconds: of equal layers
// one after another some are left out.
#pragma once
#include "compiler/verify/Certificate.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Leaves layers of an imported module of attn out. Of equal layers the first,
/// the second and the last stay: each kind of layer, each pair of kinds one
/// after the other, the first layer of the model, the last, and three of a
/// kind. Equal are layers with the same operations and constants, whatever
/// their weights. Gives what was found, also where nothing is left out.
std::vector<EqualLayers> cutLayers(mlir::ModuleOp module);

} // namespace transom
