// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows in one graph group: assigns items to rows, orders and places them
// (Sugiyama, Tagawa and Toda 1981).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace transom::tools {

/// Item kinds in a group: a node, an inner group, a port, where a line crosses
/// the group border, or a bend in a line that passes several rows.
enum class GraphItemKind { Node, Group, InPort, OutPort, Bend };

/// An item to place.
struct GraphItem {
  GraphItemKind kind = GraphItemKind::Bend;
  int64_t index = 0; ///< node or group; for ports the node of the line
  double width = 10, height = 0;
  size_t rank = 0;
  double x = 0, y = 0; ///< center of the upper side
  std::vector<size_t> before, after;
};

/// A line between two items, with the offsets of its ends from their centers.
struct GraphItemLine {
  size_t from = 0, to = 0;
  int64_t node = 0; ///< the node whose value flows
  double fromOffset = 0, toOffset = 0;
  std::vector<size_t> bends;
  bool isDashed = false;
  std::string label;
};

/// One group: its items, with their positions after layout.
struct LaidGroup {
  std::vector<GraphItem> items;
  std::vector<GraphItemLine> lines;
  std::vector<std::vector<size_t>> rows;
  double width = 0, height = 0;

  /// Returns the port position for a node's value, relative to the center.
  double getPort(GraphItemKind kind, int64_t node) const {
    for (const GraphItem &item : items)
      if (item.kind == kind && item.index == node)
        return item.x - width / 2;
    return 0;
  }
};

/// Arranges the items in a group in rows from top to bottom, and adds bends to
/// lines that pass rows. `hasBorder`: the group has a box with a title.
void arrangeRows(LaidGroup &group, bool hasBorder);

} // namespace transom::tools
