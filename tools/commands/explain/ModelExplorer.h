// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules in an explanation as graphs for Google's Model Explorer.
#pragma once
#include "compiler/explain/Explanation.h"
#include "runtime/base/Error.h"

namespace transom::tools {

/// Returns a graph collection, as defined by `graph_builder.py` in the package
/// ai-edge-model-explorer: the imported module, and the module after each pass
/// that changed it. Fails if the explanation has no IR.
Result<std::string> toModelExplorer(const Explanation &explanation);

} // namespace transom::tools
