// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifest description for a decoder and its caches.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Error.h"
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Describes how the runtime runs the sequence entry `step` and, if `source` is
/// not NULL, fills its read-only caches. Returns an internal error if `source`
/// does not name its encoder.
Result<ManifestDecoder> planDecoder(mlir::ModuleOp module,
                                    mlir::func::FuncOp step,
                                    mlir::func::FuncOp source);

} // namespace transom
