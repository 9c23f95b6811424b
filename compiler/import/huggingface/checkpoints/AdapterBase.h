// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model class that a PEFT adapter applies to: tensor names, tied tensors
// and transposed tensors.
#pragma once
#include <string>
#include <vector>

namespace transom {

/// Parameter that an adapter adds to a module without a bias.
inline constexpr const char *adapterBias = "lora_bias";

struct FamilyHead;
struct ModelConfig;
struct ModelFamily;

/// Tensors that the model class ties. A file may omit all but one; the first
/// existing one replaces the omitted ones.
struct TiedTensors {
  std::vector<std::string> names; ///< with the class prefix
  std::string input; ///< the model's input embedding module, or empty
};

/// An adapter's base model.
struct AdapterBase {
  std::string architecture; ///< the class, `LlamaForCausalLM`
  std::string prefix;       ///< base model tensor prefix, `model.`
  /// Name prefix for modules with weights [in, out]; empty: no such modules.
  std::string transposed;
  std::vector<TiedTensors> ties;
};

/// Returns the base model for a family with a head; `models` has its config, or
/// the encoder and decoder configs.
AdapterBase getAdapterBase(const ModelFamily &family, const FamilyHead &head,
                           const std::vector<ModelConfig> &models);

} // namespace transom
