// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `custom<Layers>` assembly directive for `kern.layers`. Private to the
// dialect.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom::kern {

/// `[@layer(@w0), @layer(@w1)]`.
mlir::ParseResult parseLayers(mlir::OpAsmParser &parser,
                              mlir::ArrayAttr &layers);
void printLayers(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::ArrayAttr layers);

} // namespace transom::kern
