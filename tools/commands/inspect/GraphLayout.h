// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph layout: nodes in rows from top to bottom, and a box for each group.
#pragma once
#include "compiler/inspect/ModelGraph.h"

namespace transom::tools {

struct GraphPoint {
  double x = 0, y = 0;
};

struct GraphBox {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A line through several points, from top to bottom.
struct GraphLine {
  std::vector<GraphPoint> points;
  bool isDashed = false; ///< no tensor flows along it
  bool hasArrow = false; ///< it ends at a node
  std::string label;     ///< at its start; each shape once per node
};

/// A drawing. Boxes have the same indices as nodes and groups; group 0 has the
/// size of the whole drawing.
struct GraphLayout {
  std::vector<GraphBox> nodes, groups;
  std::vector<GraphLine> lines;
};

/// Lays out a graph, deterministically.
GraphLayout layOut(const ModelGraph &graph);

} // namespace transom::tools
