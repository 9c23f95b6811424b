// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LoRA adapter config in PEFT's format.
#pragma once
#include "compiler/import/huggingface/checkpoints/PeftPatterns.h"
#include <cstdint>
#include <vector>

namespace transom {

/// Config file in an adapter folder.
inline constexpr const char *adapterConfig = "adapter_config.json";

/// Rank or alpha for the modules that a pattern matches.
struct ModuleNumber {
  ModulePattern pattern;
  double value;
};

/// Tokens whose rows an adapter replaces.
struct TrainedTokens {
  std::string module; ///< suffix of table names; empty: all
  std::vector<int64_t> ids;
};

/// Adapter keys that change results.
struct PeftConfig {
  int64_t rank = 8;
  double alpha = 8;
  bool stabilized = false;    ///< alpha / sqrt(rank), not alpha / rank
  bool hasMagnitudes = false; ///< DoRA (Liu et al. 2024)
  std::string task;           ///< the trained class's task, or empty
  std::vector<ModuleNumber> ranks, alphas;
  std::vector<std::string> saved;      ///< suffixes of fully trained modules
  std::vector<std::string> parameters; ///< suffixes of targeted parameters
  std::vector<TrainedTokens> tokens;
  std::vector<std::string> notes; ///< on unknown keys

  int64_t getRank(const std::string &module) const;
  /// Returns the scale for a module's low-rank product.
  double getScale(const std::string &module) const;
  /// Returns true if a module, or one that contains it, was trained as a whole.
  /// It then has its own weights, even if the model ties them.
  bool isSaved(const std::string &module) const;
  /// Returns true if a module's weight was targeted as a parameter.
  bool isParameter(const std::string &module) const;
  /// Returns the trained tokens for a table, or null.
  const TrainedTokens *findTokens(const std::string &module) const;

private:
  std::string getTarget(const std::string &module) const;
};

/// Reads a config. `Unsupported` for other adapter kinds, and for keys that
/// change results in an unsupported way.
Result<PeftConfig> readPeftConfig(const std::string &path);

} // namespace transom
