// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of one group of a graph: which items are in each, in which order and
// where (Sugiyama, Tagawa and Toda 1981).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom::tools {

/// What is placed in a group: a node, an inner group, a port, where a line
/// crosses the border of the group, or a bend of a line that passes several
/// rows.
enum class GraphItemKind { Node, Group, InPort, OutPort, Bend };

/// A thing that is placed.
struct GraphItem {
  GraphItemKind kind = GraphItemKind::Bend;
  int64_t index = 0; ///< of the node or group; of ports the node the line is of
  double width = 10, height = 0;
  size_t rank = 0;
  double x = 0, y = 0; ///< center of its upper side
  std::vector<size_t> before, after;
};

/// A line between two items, with the offsets of its ends from their centers.
struct GraphItemLine {
  size_t from = 0, to = 0;
  int64_t node = 0; ///< whose value flows
  double fromOffset = 0, toOffset = 0;
  std::vector<size_t> bends;
  bool isDashed = false;
  std::string label;
};

/// One group: its items, and the position of each after layout.
struct LaidGroup {
  std::vector<GraphItem> items;
  std::vector<GraphItemLine> lines;
  std::vector<std::vector<size_t>> rows;
  double width = 0, height = 0;

  /// Where the port of a node's value is, from the middle.
  double getPort(GraphItemKind kind, int64_t node) const {
    for (const GraphItem &item : items)
      if (item.kind == kind && item.index == node)
        return item.x - width / 2;
    return 0;
  }
};

/// Arranges the items of a group in rows from top to bottom, and adds the bends
/// of lines that pass rows. `hasBorder`: the group has a box with a title.
void arrangeRows(LaidGroup &group, bool hasBorder);

} // namespace transom::tools
