// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stored masks that a formula describes: tensors with one number up to a
// diagonal and another number after it, as `torch.tril` and `torch.triu` make
// them. The expression replaces the data, so that passes recognize the mask.
#pragma once
#include "compiler/safetensors/Safetensors.h"
#include "dialects/weights/WeightExpr.h"
#include <optional>

namespace transom {

/// The expression `triangle` that has exactly the elements of a tensor
/// `[..., rows, columns]` of floats, integers or bools; nothing for a tensor
/// with other contents. Reads two rows of most tensors, and all rows of a
/// triangle.
Result<std::optional<WeightExpr>> findTriangle(const ModelFiles &files,
                                               const SafetensorsTensor &tensor);

} // namespace transom
