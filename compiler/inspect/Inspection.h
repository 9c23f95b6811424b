// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result of `transom inspect` for a model that is not compiled. The header
// needs neither LLVM nor MLIR.
#pragma once
#include "compiler/inspect/ModelGraph.h"
#include "compiler/options/CompileOptions.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <string>

namespace transom {

/// Options for inspectModel.
struct InspectOptions {
  /// A model folder, a config.json without weights or a graph.json.
  std::string model;
  /// Also run the compile passes, for the plan. The compile reads `dtype` and
  /// `kvDtype`.
  bool plans = false;
  CompileOptions compile;
  bool draws = false; ///< also read the graph
};

/// The description of a model.
struct Inspection {
  std::string json; ///< one object
  std::string text; ///< human-readable
  /// The artifact's manifest, without hashes, text files and code.
  std::optional<Manifest> plan;
  std::optional<ModelGraph> graph;
};

/// Reads a model folder, a config.json or a graph.json; weight files are read
/// up to their headers.
Result<Inspection> inspectModel(const InspectOptions &options);

} // namespace transom
