// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `transom inspect` learns of a model that is not compiled. No header of
// LLVM or MLIR comes along.
#pragma once
#include "compiler/inspect/ModelGraph.h"
#include "compiler/options/CompileOptions.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <string>

namespace transom {

/// What to tell about a model.
struct InspectOptions {
  /// A model folder, a config.json without weights or a graph.json.
  std::string model;
  /// Also run the passes of a compile, for the plan. The compile reads `dtype`
  /// and `kvDtype`.
  bool plans = false;
  CompileOptions compile;
  bool draws = false; ///< also read the graph
};

/// What there is to tell.
struct Inspection {
  std::string json; ///< one object
  std::string text; ///< for people
  /// The manifest that the artifact would have, apart from hashes, texts and
  /// code.
  std::optional<Manifest> plan;
  std::optional<ModelGraph> graph;
};

/// Reads a model folder, a config.json or a graph.json; of weights the headers
/// only.
Result<Inspection> inspectModel(const InspectOptions &options);

} // namespace transom
