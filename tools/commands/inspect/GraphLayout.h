// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the nodes of a graph are drawn: in rows from top to bottom, each group
// in a box of its own.
#pragma once
#include "compiler/inspect/ModelGraph.h"

namespace transom::tools {

struct GraphPoint {
  double x = 0, y = 0;
};

struct GraphBox {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A line through some points, from top to bottom.
struct GraphLine {
  std::vector<GraphPoint> points;
  bool isDashed = false; ///< no tensor flows along it
  bool hasArrow = false; ///< it ends at a node
  std::string label;     ///< at its start; each shape once for each node
};

/// A drawing. Boxes have the indices of their nodes and groups; the size of
/// group 0 is that of all.
struct GraphLayout {
  std::vector<GraphBox> nodes, groups;
  std::vector<GraphLine> lines;
};

/// Lays out a graph. The same graph gives the same layout.
GraphLayout layOut(const ModelGraph &graph);

} // namespace transom::tools
