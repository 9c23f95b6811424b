// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch activation modules as attn operations.
#pragma once
#include "compiler/import/Emitter.h"
#include "runtime/base/TorchActivation.h"

namespace transom {

/// Applies an activation to each element in `x`. `slope` is a PReLU's learned
/// weight [1]; null selects the default slope.
mlir::Value emitTorchActivation(Emitter &emit, TorchActivation kind,
                                mlir::Value x, mlir::Value slope = {});

} // namespace transom
