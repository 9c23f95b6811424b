// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations and softmax exponentials on 16-lane vectors. They use arithmetic
// instructions with results defined by IEEE 754, and no library calls, so all
// instruction sets give the same bits.
#pragma once
#include "passes/lower/emit/CodeEmitter.h"
#include "runtime/base/Activation.h"

namespace transom::lower {

/// 2^x for x <= 0, up to 2 ulp; exactly 0 below -126 and for minus infinity.
mlir::Value emitExp2OfNonPositive(CodeEmitter &e, mlir::Value x);

/// The lanes in which a softmax sum is empty, so its row has no visible
/// element: the sum is zero there and about one or more elsewhere. A NaN is not
/// empty, so that it propagates.
mlir::Value emitIsEmptySum(CodeEmitter &e, mlir::Value sum);

/// e^x: infinity on overflow, 0 on underflow.
mlir::Value emitExp(CodeEmitter &e, mlir::Value x);

/// erf(x) with an absolute error below 2e-7.
mlir::Value emitErf(CodeEmitter &e, mlir::Value x);

/// An activation. `kind` has a case for each row in runtime/base/Activation.h;
/// docs/extending.md describes how to add one.
mlir::Value emitActivation(CodeEmitter &e, Activation kind, mlir::Value x);

} // namespace transom::lower
