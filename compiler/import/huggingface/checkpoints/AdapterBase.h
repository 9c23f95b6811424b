// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model class that a PEFT adapter applies to: tensor names, tied tensors
// and tensors that are stored transposed.
#pragma once
#include <string>
#include <vector>

namespace transom {

/// The parameter of a module that an adapter adds where the module has no bias.
inline constexpr const char *adapterBias = "lora_bias";

struct FamilyHead;
struct ModelConfig;
struct ModelFamily;

/// Tensors that are one in the class of a model. A file may lack all but one;
/// the first one that is there counts for those that it lacks.
struct TiedTensors {
  std::vector<std::string> names; ///< with the prefix of the class
  std::string input; ///< the module of the model's own embedding, or empty
};

/// The model of an adapter.
struct AdapterBase {
  std::string architecture; ///< the class, `LlamaForCausalLM`
  std::string prefix;       ///< of the base model's tensors, `model.`
  /// What names of modules with weights [in, out] begin with; empty: none has.
  std::string transposed;
  std::vector<TiedTensors> ties;
};

/// The model of a family with a head; `models` has its config, or those of its
/// encoder and decoder.
AdapterBase getAdapterBase(const ModelFamily &family, const FamilyHead &head,
                           const std::vector<ModelConfig> &models);

} // namespace transom
