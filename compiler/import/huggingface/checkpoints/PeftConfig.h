// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The config of a LoRA adapter as PEFT stores it.
#pragma once
#include "compiler/import/huggingface/checkpoints/PeftPatterns.h"
#include <cstdint>
#include <vector>

namespace transom {

/// The config file in the folder of an adapter.
inline constexpr const char *adapterConfig = "adapter_config.json";

/// Ranks or alphas of the modules that a pattern matches.
struct ModuleNumber {
  ModulePattern pattern;
  double value;
};

/// Tokens whose rows an adapter replaces.
struct TrainedTokens {
  std::string module; ///< the end of the names of tables; empty: all
  std::vector<int64_t> ids;
};

/// The keys of an adapter that change results.
struct PeftConfig {
  int64_t rank = 8;
  double alpha = 8;
  bool stabilized = false;    ///< alpha is divided by the root of the rank
  bool hasMagnitudes = false; ///< DoRA (Liu et al. 2024)
  std::string task;           ///< of the class that was trained, or empty
  std::vector<ModuleNumber> ranks, alphas;
  std::vector<std::string> saved;      ///< ends of modules trained as a whole
  std::vector<std::string> parameters; ///< ends of targeted parameters
  std::vector<TrainedTokens> tokens;
  std::vector<std::string> notes; ///< on keys that are not known

  int64_t getRank(const std::string &module) const;
  /// The factor of the product of a module's factors.
  double getScale(const std::string &module) const;
  /// Whether a module, or one that it is part of, was trained as a whole. Its
  /// weights are then its own, also where the model ties them.
  bool isSaved(const std::string &module) const;
  /// Whether the weight of a module was targeted as a parameter.
  bool isParameter(const std::string &module) const;
  /// The tokens of a table, or null.
  const TrainedTokens *findTokens(const std::string &module) const;

private:
  std::string getTarget(const std::string &module) const;
};

/// Reads a config. `Unsupported` for another kind of adapter, and for keys that
/// change results in a way that is not supported.
Result<PeftConfig> readPeftConfig(const std::string &path);

} // namespace transom
