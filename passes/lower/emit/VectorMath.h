// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of activations and softmax on vectors of 16 lanes, from
// additions, products and integer steps alone, so that no instruction set
// needs a library and all give the same bits.
#pragma once
#include "passes/lower/emit/Emit.h"

namespace transom::lower {

/// 2^x for x <= 0, at most 2 ulp; exactly 0 below -126 and for minus infinity.
mlir::Value emitExp2OfNonPositive(Emitter &e, mlir::Value x);

/// Where a softmax's total says that it has no number: there it is zero, else
/// about one or more. A NaN is not taken for that, so it is not lost.
mlir::Value emitIsEmptyTotal(Emitter &e, mlir::Value total);

/// e^x over the whole range: infinity above, 0 below.
mlir::Value emitExp(Emitter &e, mlir::Value x);

/// erf(x) with an absolute error below 4e-7.
mlir::Value emitErf(Emitter &e, mlir::Value x);

/// The activation that `kind` names (see `attn.activation`).
mlir::Value emitActivation(Emitter &e, llvm::StringRef kind, mlir::Value x);

} // namespace transom::lower
