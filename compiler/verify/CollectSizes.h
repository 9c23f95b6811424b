// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model sizes, and the relations between them that operations and weight
// expressions require.
#pragma once
#include "compiler/verify/SizeSolver.h"
#include "compiler/verify/TensorShapes.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Collects the sizes in an attn module with ranked results. `groups` are the
/// quantization group sizes in the compile options, `shapes` the file tensor
/// shapes. An error for a weight expression that does not fit them.
Result<SizeRelations> collectSizes(mlir::ModuleOp module,
                                   const TensorShapes::Map &shapes,
                                   const std::set<int64_t> &groups);

} // namespace transom
