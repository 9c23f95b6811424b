// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a model and the relations between them that its operations and
// weight expressions require.
#pragma once
#include "compiler/verify/SizeSolver.h"
#include "compiler/verify/TensorShapes.h"
#include "mlir/IR/BuiltinOps.h"

namespace transom {

/// Collects the sizes of a module of attn whose results are ranked. `groups`
/// are the group sizes in which a compile quantizes weights, `shapes` the
/// shapes of file tensors. An error for a weight expression that does not fit
/// them.
Result<SizeRelations> collectSizes(mlir::ModuleOp module,
                                   const TensorShapes::Map &shapes,
                                   const std::set<int64_t> &groups);

} // namespace transom
