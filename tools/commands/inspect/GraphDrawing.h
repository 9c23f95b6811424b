// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a model's graph.
#pragma once
#include "compiler/inspect/ModelGraph.h"

namespace transom::tools {

/// Returns a self-contained SVG: no external fonts, scripts or files; light or
/// dark as the viewer prefers.
std::string drawSvg(const ModelGraph &graph);

/// Returns the graph in Graphviz's DOT language.
std::string drawDot(const ModelGraph &graph);

} // namespace transom::tools
