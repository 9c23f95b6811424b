// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Presents GGUF tensors with the Hugging Face checkpoint's names and values.
#pragma once
#include "compiler/import/gguf/GgufConfig.h"
#include "compiler/safetensors/Safetensors.h"

namespace transom::gguf {

/// Converts the file to a tensor source. `Unsupported` for unsupported
/// quantized types and for tensors that the architecture's rows do not list,
/// `Rejected` if a tensor is missing or does not match the number of heads.
Result<ModelFiles> openTensors(File file, const Architecture &row,
                               const ConfigText &config);

} // namespace transom::gguf
