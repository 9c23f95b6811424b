// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of quantized checkpoints, which several tensors make: `X.qweight`,
// `X.scales` and others become `X.weight`, a matrix [out, in] that is stored in
// groups.
#pragma once
#include "compiler/import/huggingface/checkpoints/QuantizationConfig.h"
#include "compiler/safetensors/Safetensors.h"

namespace transom {

/// Puts such matrices in the place of the tensors that make them. Shapes and
/// types are checked, and that groups along k are in order. Zero points are
/// read, since they decide which whole numbers there are.
Result<void> joinPackedTensors(ModelFiles &files,
                               const QuantizationConfig &config);

} // namespace transom
