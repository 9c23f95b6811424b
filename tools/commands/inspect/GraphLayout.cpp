// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lays out groups from the innermost outwards.
#include "tools/commands/inspect/GraphLayout.h"
#include "tools/commands/inspect/GraphRows.h"
#include <algorithm>
#include <map>
#include <set>

using namespace transom;
using namespace transom::tools;

static constexpr double portWidth = 12;

namespace {

class Layouter {
public:
  explicit Layouter(const ModelGraph &graph)
      : graph(graph), groups(graph.groups.size()) {}

  GraphLayout run();

private:
  void measureNodes();
  void addEdge(const DrawnEdge &edge);
  size_t getItem(int64_t group, GraphItemKind kind, int64_t index);
  void addLine(int64_t group, size_t from, size_t to, const DrawnEdge &edge,
               bool isFirst);
  std::vector<int64_t> getPath(int64_t group) const;
  void layOutGroup(int64_t group);
  void place(int64_t group, double x, double y, GraphLayout &layout) const;

  const ModelGraph &graph;
  std::vector<LaidGroup> groups;
  std::vector<GraphBox> nodeSizes;
  std::map<std::tuple<int64_t, GraphItemKind, int64_t>, size_t> itemIndex;
  std::set<std::tuple<int64_t, size_t, size_t, int64_t>> known;
  std::set<std::pair<int64_t, std::string>> labelled;
};

} // namespace

//===----------------------------------------------------------------------===//
// Items and lines
//===----------------------------------------------------------------------===//

/// Counts the characters in a UTF-8 string.
static double countCharacters(const std::string &text) {
  return static_cast<double>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void Layouter::measureNodes() {
  for (const DrawnNode &node : graph.nodes) {
    GraphBox box;
    box.width = std::max({countCharacters(node.title) * 7.4,
                          countCharacters(node.detail) * 5.9, 34.0}) +
                22;
    box.height = node.detail.empty() ? 28 : 42;
    nodeSizes.push_back(box);
  }
}

size_t Layouter::getItem(int64_t group, GraphItemKind kind, int64_t index) {
  LaidGroup &laid = groups[static_cast<size_t>(group)];
  auto [at, isNew] =
      itemIndex.try_emplace({group, kind, index}, laid.items.size());
  if (isNew) {
    GraphItem item;
    item.kind = kind;
    item.index = index;
    item.width = kind == GraphItemKind::Node
                     ? nodeSizes[static_cast<size_t>(index)].width
                     : portWidth;
    item.height = kind == GraphItemKind::Node
                      ? nodeSizes[static_cast<size_t>(index)].height
                      : 0;
    laid.items.push_back(item);
  }
  return at->second;
}

/// Returns the path from the outermost group to a group.
std::vector<int64_t> Layouter::getPath(int64_t group) const {
  std::vector<int64_t> path;
  for (int64_t at = group; at >= 0;
       at = graph.groups[static_cast<size_t>(at)].parent)
    path.insert(path.begin(), at);
  return path;
}

void Layouter::addLine(int64_t group, size_t from, size_t to,
                       const DrawnEdge &edge, bool isFirst) {
  LaidGroup &laid = groups[static_cast<size_t>(group)];
  if (!known.insert({group, from, to, edge.from}).second)
    return;
  GraphItemLine line;
  line.from = from;
  line.to = to;
  line.node = edge.from;
  line.isDashed = edge.shape.empty();
  if (isFirst && labelled.insert({edge.from, edge.shape}).second)
    line.label = edge.shape;
  laid.lines.push_back(std::move(line));
}

/// An edge leaves the groups around its start through ports, runs in the
/// innermost group that contains both ends, and enters the groups around its
/// end through ports.
void Layouter::addEdge(const DrawnEdge &edge) {
  const auto getGroup = [&](int64_t node) {
    return graph.nodes[static_cast<size_t>(node)].group;
  };
  std::vector<int64_t> up = getPath(getGroup(edge.from)),
                       down = getPath(getGroup(edge.to));
  size_t common = 0;
  while (common < up.size() && common < down.size() &&
         up[common] == down[common])
    ++common;
  size_t from = getItem(up.back(), GraphItemKind::Node, edge.from);
  bool isFirst = true;
  for (size_t i = up.size(); i-- > common; isFirst = false) {
    addLine(up[i], from, getItem(up[i], GraphItemKind::OutPort, edge.from),
            edge, isFirst);
    from = getItem(up[i - 1], GraphItemKind::Group, up[i]);
  }
  for (size_t i = common; i < down.size(); ++i, isFirst = false) {
    addLine(down[i - 1], from,
            getItem(down[i - 1], GraphItemKind::Group, down[i]), edge, isFirst);
    from = getItem(down[i], GraphItemKind::InPort, edge.from);
  }
  addLine(down.back(), from, getItem(down.back(), GraphItemKind::Node, edge.to),
          edge, isFirst);
}

void Layouter::layOutGroup(int64_t index) {
  for (size_t inner = 0; inner < groups.size(); ++inner)
    if (graph.groups[inner].parent == index)
      layOutGroup(static_cast<int64_t>(inner));
  LaidGroup &group = groups[static_cast<size_t>(index)];
  for (GraphItem &item : group.items)
    if (item.kind == GraphItemKind::Group) {
      item.width = groups[static_cast<size_t>(item.index)].width;
      item.height = groups[static_cast<size_t>(item.index)].height;
    }
  for (GraphItemLine &line : group.lines) {
    const GraphItem &from = group.items[line.from], &to = group.items[line.to];
    if (from.kind == GraphItemKind::Group)
      line.fromOffset = groups[static_cast<size_t>(from.index)].getPort(
          GraphItemKind::OutPort, line.node);
    if (to.kind == GraphItemKind::Group)
      line.toOffset = groups[static_cast<size_t>(to.index)].getPort(
          GraphItemKind::InPort, line.node);
  }
  arrangeRows(group, index != 0);
  // Make room for the title.
  const DrawnGroup &shown = graph.groups[static_cast<size_t>(index)];
  group.width = std::max(
      group.width, 7.5 * countCharacters(shown.title + shown.repeats) + 60);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void Layouter::place(int64_t index, double x, double y,
                     GraphLayout &layout) const {
  const LaidGroup &group = groups[static_cast<size_t>(index)];
  layout.groups[static_cast<size_t>(index)] = {x, y, group.width, group.height};
  for (const GraphItem &item : group.items) {
    const GraphBox box{x + item.x - item.width / 2, y + item.y, item.width,
                       item.height};
    if (item.kind == GraphItemKind::Node)
      layout.nodes[static_cast<size_t>(item.index)] = box;
    if (item.kind == GraphItemKind::Group)
      place(item.index, box.x, box.y, layout);
  }
  for (const GraphItemLine &line : group.lines) {
    GraphLine drawn;
    drawn.isDashed = line.isDashed;
    drawn.label = line.label;
    drawn.hasArrow = group.items[line.to].kind == GraphItemKind::Node;
    const GraphItem &from = group.items[line.from], &to = group.items[line.to];
    drawn.points.push_back(
        {x + from.x + line.fromOffset, y + from.y + from.height});
    for (size_t bend : line.bends) {
      const GraphItem &item = group.items[bend];
      drawn.points.push_back({x + item.x, y + item.y});
      if (item.height > 0)
        drawn.points.push_back({x + item.x, y + item.y + item.height});
    }
    drawn.points.push_back({x + to.x + line.toOffset, y + to.y});
    layout.lines.push_back(std::move(drawn));
  }
}

GraphLayout Layouter::run() {
  measureNodes();
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    getItem(graph.nodes[i].group, GraphItemKind::Node, static_cast<int64_t>(i));
  for (size_t i = 1; i < graph.groups.size(); ++i)
    getItem(graph.groups[i].parent, GraphItemKind::Group,
            static_cast<int64_t>(i));
  for (const DrawnEdge &edge : graph.edges)
    addEdge(edge);
  layOutGroup(0);
  GraphLayout layout;
  layout.nodes.resize(graph.nodes.size());
  layout.groups.resize(graph.groups.size());
  place(0, 0, 0, layout);
  return layout;
}

GraphLayout tools::layOut(const ModelGraph &graph) {
  return Layouter(graph).run();
}
