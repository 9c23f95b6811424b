// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoRA adapters (Hu et al. 2021), and those of trained tokens, as PEFT stores
// them: adapter_config.json and adapter_model.safetensors.
#pragma once
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"
#include "compiler/import/huggingface/checkpoints/PeftConfig.h"
#include "compiler/safetensors/Safetensors.h"
#include <string>
#include <vector>

namespace transom {

/// The file of an adapter's tensors in its folder.
inline constexpr const char *adapterWeights = "adapter_model.safetensors";
/// What names of an adapter's files and tensors begin with in a model.
inline constexpr const char *adapterPrefix = "lora/";

/// Merges the adapter of a folder into the tensors of a model, which get
/// expressions such as W + scale * B A. Gives notes. `Rejected` for an adapter
/// whose tensors do not fit the model, `Unsupported` for another kind of
/// adapter.
Result<std::vector<std::string>> mergeAdapter(ModelFiles &files,
                                              const std::string &folder,
                                              const AdapterBase &base);

} // namespace transom
