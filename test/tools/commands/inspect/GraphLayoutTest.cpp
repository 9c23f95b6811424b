// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Node and line positions. test_graph_drawing.py draws models.
#include "tools/commands/inspect/GraphLayout.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// Nodes 0 to n-1 in the groups given.
ModelGraph makeGraph(const std::vector<int64_t> &groupOfNode,
                     const std::vector<int64_t> &parents,
                     const std::vector<std::pair<int64_t, int64_t>> &edges) {
  ModelGraph graph;
  for (int64_t parent : parents)
    graph.groups.push_back({"group", "", parent});
  for (int64_t group : groupOfNode)
    graph.nodes.push_back({DrawnKind::Other, "node", "", group});
  for (auto [from, to] : edges)
    graph.edges.push_back({from, to, "[4]"});
  return graph;
}

bool isInside(const GraphBox &inner, const GraphBox &outer) {
  return inner.x >= outer.x && inner.y >= outer.y &&
         inner.x + inner.width <= outer.x + outer.width &&
         inner.y + inner.height <= outer.y + outer.height;
}

TEST(GraphLayout, edgesLeadDownwards) {
  const ModelGraph graph =
      makeGraph({0, 0, 0, 0}, {-1}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}});
  const GraphLayout layout = layOut(graph);
  for (const DrawnEdge &edge : graph.edges) {
    const GraphBox &from = layout.nodes[static_cast<size_t>(edge.from)];
    EXPECT_LT(from.y + from.height,
              layout.nodes[static_cast<size_t>(edge.to)].y);
  }
  EXPECT_EQ(layout.lines.size(), graph.edges.size());
  for (const GraphLine &line : layout.lines)
    for (size_t i = 1; i < line.points.size(); ++i)
      EXPECT_LT(line.points[i - 1].y, line.points[i].y);
  // 1 and 2 are side by side, and 0 and 3 between them.
  EXPECT_EQ(layout.nodes[1].y, layout.nodes[2].y);
  EXPECT_NEAR(layout.nodes[0].x, layout.nodes[3].x, 60);
}

TEST(GraphLayout, groupsHoldTheirNodes) {
  // 0 -> [1 -> [2] -> 3] -> 4, and 0 -> 4.
  const ModelGraph graph = makeGraph({0, 1, 2, 1, 0}, {-1, 0, 1},
                                     {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 4}});
  const GraphLayout layout = layOut(graph);
  EXPECT_TRUE(isInside(layout.nodes[1], layout.groups[1]));
  EXPECT_TRUE(isInside(layout.nodes[3], layout.groups[1]));
  EXPECT_TRUE(isInside(layout.nodes[2], layout.groups[2]));
  EXPECT_TRUE(isInside(layout.groups[2], layout.groups[1]));
  EXPECT_FALSE(isInside(layout.nodes[0], layout.groups[1]));
  EXPECT_FALSE(isInside(layout.nodes[4], layout.groups[1]));
}

TEST(GraphLayout, linesMeetAtTheBorderOfAGroup) {
  const ModelGraph graph = makeGraph({0, 1, 0}, {-1, 0}, {{0, 1}, {1, 2}});
  const GraphLayout layout = layOut(graph);
  // Outside and inside, on each side of the group.
  ASSERT_EQ(layout.lines.size(), 4u);
  size_t meetings = 0;
  for (const GraphLine &first : layout.lines)
    for (const GraphLine &second : layout.lines) {
      const GraphPoint &end = first.points.back(), &begin = second.points[0];
      if (end.x == begin.x && end.y == begin.y)
        ++meetings;
    }
  EXPECT_EQ(meetings, 2u);
}

TEST(GraphLayout, aValueMayLeaveAGroupAndComeBack) {
  // 0 and 2 are in a group, 1 is not.
  const GraphLayout layout =
      layOut(makeGraph({1, 0, 1}, {-1, 0}, {{0, 1}, {1, 2}}));
  EXPECT_TRUE(isInside(layout.nodes[0], layout.groups[1]));
  EXPECT_TRUE(isInside(layout.nodes[2], layout.groups[1]));
  EXPECT_FALSE(isInside(layout.nodes[1], layout.groups[1]));
}

TEST(GraphLayout, aShapeIsWrittenOnceForEachNode) {
  const GraphLayout layout =
      layOut(makeGraph({0, 0, 0}, {-1}, {{0, 1}, {0, 2}}));
  EXPECT_EQ(layout.lines[0].label, "[4]");
  EXPECT_EQ(layout.lines[1].label, "");
}

TEST(GraphLayout, aGraphWithoutNodesIsEmpty) {
  const GraphLayout layout = layOut(makeGraph({}, {-1}, {}));
  EXPECT_TRUE(layout.nodes.empty());
  EXPECT_TRUE(layout.lines.empty());
}

} // namespace
