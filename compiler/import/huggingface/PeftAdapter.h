// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoRA adapters (Hu et al. 2021) as PEFT stores them: adapter_config.json and
// adapter_model.safetensors.
#pragma once
#include "runtime/safetensors/Safetensors.h"
#include <string>
#include <vector>

namespace transom {

/// The files of an adapter's folder.
inline constexpr const char *adapterConfig = "adapter_config.json";
inline constexpr const char *adapterWeights = "adapter_model.safetensors";
/// What names of an adapter's files and tensors begin with in a model.
inline constexpr const char *adapterPrefix = "lora/";

/// Merges the adapter of a folder into the tensors of a model, which get the
/// expression W + scale * B A. `modelPrefix` is what names of the model's class
/// begin with, `model.`. Gives notes. `Rejected` for an adapter of another
/// model, `Unsupported` for another kind of adapter.
Result<std::vector<std::string>> mergeAdapter(ModelFiles &files,
                                              const std::string &folder,
                                              const std::string &modelPrefix);

} // namespace transom
