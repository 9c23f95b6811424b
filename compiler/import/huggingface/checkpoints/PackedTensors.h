// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized checkpoint weights that consist of several tensors: `X.qweight`,
// `X.scales` and others become `X.weight`, a matrix [out, in] that is stored in
// groups.
#pragma once
#include "compiler/import/huggingface/checkpoints/QuantizationConfig.h"
#include "compiler/safetensors/Safetensors.h"

namespace transom {

/// Replaces the tensors of each such matrix with the matrix. Checks shapes,
/// types and that groups along k are in order. Reads zero points, since they
/// determine the integer range.
Result<void> joinPackedTensors(ModelFiles &files,
                               const QuantizationConfig &config);

} // namespace transom
