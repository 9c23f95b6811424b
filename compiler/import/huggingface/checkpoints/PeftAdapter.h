// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoRA adapters (Hu et al. 2021) and trained-token adapters in PEFT's format:
// adapter_config.json and adapter_model.safetensors.
#pragma once
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"
#include "compiler/import/huggingface/checkpoints/PeftConfig.h"
#include "compiler/safetensors/Safetensors.h"
#include <string>
#include <vector>

namespace transom {

/// File with the adapter's tensors in its folder.
inline constexpr const char *adapterWeights = "adapter_model.safetensors";
/// Prefix for an adapter's files and tensors in a model.
inline constexpr const char *adapterPrefix = "lora/";

/// Merges a folder's adapter into a model's tensors, which get expressions such
/// as W + scale * B A. Returns notes. `Rejected` for an adapter whose tensors
/// do not fit the model, `Unsupported` for other adapter kinds.
Result<std::vector<std::string>> mergeAdapter(ModelFiles &files,
                                              const std::string &folder,
                                              const AdapterBase &base);

} // namespace transom
