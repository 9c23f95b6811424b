// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detects stored masks that a formula describes: tensors with one value up to a
// diagonal and another value after it, as `torch.tril` and `torch.triu` create
// them. The expression replaces the data, so that passes recognize the mask.
#pragma once
#include "compiler/safetensors/Safetensors.h"
#include "dialects/weights/WeightExpr.h"
#include <optional>

namespace transom {

/// Returns the expression `triangle` if it has exactly the elements of a float,
/// integer or bool tensor `[..., rows, columns]`; nullopt for other contents.
/// Reads two rows from most tensors, and all rows from a triangle.
Result<std::optional<WeightExpr>> findTriangle(const ModelFiles &files,
                                               const SafetensorsTensor &tensor);

} // namespace transom
