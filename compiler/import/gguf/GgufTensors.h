// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a GGUF file under the names, and with the values, that the
// checkpoint of Hugging Face has.
#pragma once
#include "compiler/import/gguf/GgufConfig.h"
#include "compiler/safetensors/Safetensors.h"

namespace transom::gguf {

/// Gives the file away as a source of tensors. `Unsupported` for a quantized
/// tensor and for one that no row of the architecture has, `Rejected` where one
/// is missing or does not fit the number of heads.
Result<ModelFiles> openTensors(File file, const Architecture &row,
                               const ConfigText &config);

} // namespace transom::gguf
