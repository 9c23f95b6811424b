// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activation modules of torch in operations of the attn dialect.
#pragma once
#include "compiler/import/Emitter.h"
#include "runtime/base/TorchActivation.h"

namespace transom {

/// The operations of an activation on each element of `x`. `slope` is the
/// learned weight [1] of a PReLU, whose default is used where it is null.
mlir::Value emitTorchActivation(Emitter &emit, TorchActivation kind,
                                mlir::Value x, mlir::Value slope = {});

} // namespace transom
