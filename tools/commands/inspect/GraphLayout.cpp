// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups are laid out from the innermost outwards. In a group, an item is a
// node, an inner group, a port, where a line crosses the border of the group,
// or a bend of a line that passes several rows.
#include "tools/commands/inspect/GraphLayout.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

using namespace transom;
using namespace transom::tools;

static constexpr double columnGap = 26, rowGap = 44, border = 20, title = 26;
static constexpr double bendWidth = 10, portWidth = 12;
static constexpr int numSweeps = 12;

namespace {

enum class ItemKind { Node, Group, InPort, OutPort, Bend };

struct Item {
  ItemKind kind = ItemKind::Bend;
  int64_t index = 0; ///< of the node or group; of ports the node the line is of
  double width = bendWidth, height = 0;
  size_t rank = 0;
  double x = 0, y = 0; ///< center of its upper side
  std::vector<size_t> before, after;
};

/// A line between two items, with the offsets of its ends from their centers.
struct ItemLine {
  size_t from = 0, to = 0;
  int64_t node = 0; ///< whose value flows
  double fromOffset = 0, toOffset = 0;
  std::vector<size_t> bends;
  bool isDashed = false;
  std::string label;
};

/// One group: its items, and the position of each after layout.
struct LaidGroup {
  std::vector<Item> items;
  std::vector<ItemLine> lines;
  std::vector<std::vector<size_t>> rows;
  double width = 0, height = 0;

  /// Where the port of a node's value is, from the middle.
  double getPort(ItemKind kind, int64_t node) const {
    for (const Item &item : items)
      if (item.kind == kind && item.index == node)
        return item.x - width / 2;
    return 0;
  }
};

class Layouter {
public:
  explicit Layouter(const ModelGraph &graph)
      : graph(graph), groups(graph.groups.size()) {}

  GraphLayout run();

private:
  void measureNodes();
  void addItems(int64_t group);
  void addEdge(const DrawnEdge &edge);
  size_t getItem(int64_t group, ItemKind kind, int64_t index);
  void addLine(int64_t group, size_t from, size_t to, const DrawnEdge &edge,
               bool isFirst);
  std::vector<int64_t> getPath(int64_t group) const;
  void layOutGroup(int64_t group);
  void place(int64_t group, double x, double y, GraphLayout &layout) const;

  const ModelGraph &graph;
  std::vector<LaidGroup> groups;
  std::vector<GraphBox> nodeSizes;
  std::map<std::tuple<int64_t, ItemKind, int64_t>, size_t> itemIndex;
  std::set<std::tuple<int64_t, size_t, size_t, int64_t>> known;
  std::set<std::pair<int64_t, std::string>> labelled;
};

} // namespace

//===----------------------------------------------------------------------===//
// Items and lines
//===----------------------------------------------------------------------===//

/// Characters of a text, which may have others than ASCII.
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

size_t Layouter::getItem(int64_t group, ItemKind kind, int64_t index) {
  LaidGroup &laid = groups[static_cast<size_t>(group)];
  auto [at, isNew] =
      itemIndex.try_emplace({group, kind, index}, laid.items.size());
  if (isNew) {
    Item item;
    item.kind = kind;
    item.index = index;
    item.width = kind == ItemKind::Node
                     ? nodeSizes[static_cast<size_t>(index)].width
                     : portWidth;
    item.height = kind == ItemKind::Node
                      ? nodeSizes[static_cast<size_t>(index)].height
                      : 0;
    laid.items.push_back(item);
  }
  return at->second;
}

/// The groups from the outermost to a group.
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
  ItemLine line;
  line.from = from;
  line.to = to;
  line.node = edge.from;
  line.isDashed = edge.shape.empty();
  if (isFirst && labelled.insert({edge.from, edge.shape}).second)
    line.label = edge.shape;
  laid.lines.push_back(std::move(line));
}

/// An edge leaves the groups of its start by ports, runs in the innermost group
/// that holds both ends, and enters those of its end.
void Layouter::addEdge(const DrawnEdge &edge) {
  const auto groupOf = [&](int64_t node) {
    return graph.nodes[static_cast<size_t>(node)].group;
  };
  std::vector<int64_t> up = getPath(groupOf(edge.from)),
                       down = getPath(groupOf(edge.to));
  size_t common = 0;
  while (common < up.size() && common < down.size() &&
         up[common] == down[common])
    ++common;
  size_t from = getItem(up.back(), ItemKind::Node, edge.from);
  bool isFirst = true;
  for (size_t i = up.size(); i-- > common; isFirst = false) {
    addLine(up[i], from, getItem(up[i], ItemKind::OutPort, edge.from), edge,
            isFirst);
    from = getItem(up[i - 1], ItemKind::Group, up[i]);
  }
  for (size_t i = common; i < down.size(); ++i, isFirst = false) {
    addLine(down[i - 1], from, getItem(down[i - 1], ItemKind::Group, down[i]),
            edge, isFirst);
    from = getItem(down[i], ItemKind::InPort, edge.from);
  }
  addLine(down.back(), from, getItem(down.back(), ItemKind::Node, edge.to),
          edge, isFirst);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The items such that each comes after those before it. Between groups there
/// may be cycles, where a value leaves a group and another one comes back; the
/// first item of a cycle then comes first.
static std::vector<size_t> sortItems(const std::vector<Item> &items) {
  std::vector<size_t> order, open(items.size());
  std::vector<bool> isDone(items.size());
  auto add = [&](size_t i) {
    if (!isDone[i])
      order.push_back(i);
    isDone[i] = true;
  };
  for (size_t i = 0; i < items.size(); ++i)
    if ((open[i] = items[i].before.size()) == 0)
      add(i);
  for (size_t at = 0, next = 0;
       order.size() < items.size() || at < order.size();) {
    if (at == order.size()) {
      while (isDone[next])
        ++next;
      add(next);
    }
    for (size_t after : items[order[at++]].after)
      if (--open[after] == 0)
        add(after);
  }
  return order;
}

/// Forgets the lines that lead back, for the order of rows. Returns the items
/// in order.
static std::vector<size_t> breakCycles(std::vector<Item> &items) {
  std::vector<size_t> order = sortItems(items), position(items.size());
  for (size_t at = 0; at < order.size(); ++at)
    position[order[at]] = at;
  for (size_t i = 0; i < items.size(); ++i) {
    auto drop = [&](std::vector<size_t> &others, bool areBefore) {
      others.erase(std::remove_if(others.begin(), others.end(),
                                  [&](size_t other) {
                                    return (position[other] < position[i]) !=
                                           areBefore;
                                  }),
                   others.end());
    };
    drop(items[i].before, true);
    drop(items[i].after, false);
  }
  return order;
}

/// Each item is in the row after the last one before it; what leads from no
/// port to one item only is right before it.
static void rankItems(std::vector<Item> &items) {
  const std::vector<size_t> order = breakCycles(items);
  size_t last = 0;
  for (size_t i : order) {
    items[i].rank = items[i].kind == ItemKind::InPort ? 0 : 1;
    for (size_t before : items[i].before)
      items[i].rank = std::max(items[i].rank, items[before].rank + 1);
    last = std::max(last, items[i].rank);
  }
  std::vector<bool> isFree(items.size());
  for (size_t i : order) {
    isFree[i] = items[i].kind != ItemKind::InPort;
    for (size_t before : items[i].before)
      isFree[i] = isFree[i] && isFree[before];
  }
  for (size_t at = order.size(); at-- > 0;) {
    Item &item = items[order[at]];
    if (item.kind == ItemKind::OutPort)
      item.rank = last + 1;
    if (!isFree[order[at]] || item.after.empty() || item.before.size() > 1)
      continue;
    size_t first = SIZE_MAX;
    for (size_t after : item.after)
      first = std::min(first, items[after].rank);
    item.rank = std::max(item.rank, first - 1);
  }
}

/// Splits lines that pass rows, so that each part leads to the next row.
static void addBends(LaidGroup &group) {
  for (ItemLine &line : group.lines) {
    size_t from = line.from;
    const size_t last = group.items[line.to].rank;
    if (last <= group.items[from].rank)
      continue; // it leads back
    for (size_t rank = group.items[from].rank + 1; rank < last; ++rank) {
      Item bend;
      bend.rank = rank;
      group.items.push_back(bend);
      const size_t index = group.items.size() - 1;
      line.bends.push_back(index);
      group.items[from].after.push_back(index);
      group.items[index].before.push_back(from);
      from = index;
    }
    group.items[from].after.push_back(line.to);
    group.items[line.to].before.push_back(from);
  }
}

static void fillRows(LaidGroup &group) {
  size_t last = 0;
  for (const Item &item : group.items)
    last = std::max(last, item.rank);
  group.rows.resize(last + 1);
  for (size_t i = 0; i < group.items.size(); ++i)
    group.rows[group.items[i].rank].push_back(i);
  group.rows.erase(std::remove_if(group.rows.begin(), group.rows.end(),
                                  [](const auto &row) { return row.empty(); }),
                   group.rows.end());
}

/// Orders the items of each row by the mean position of their neighbors, in
/// turn downwards and upwards.
static void orderRows(LaidGroup &group) {
  std::vector<double> position(group.items.size());
  auto number = [&](const std::vector<size_t> &row) {
    for (size_t i = 0; i < row.size(); ++i)
      position[row[i]] =
          static_cast<double>(i) + 0.5 - static_cast<double>(row.size()) / 2;
  };
  for (const auto &row : group.rows)
    number(row);
  for (int sweep = 0; sweep < numSweeps; ++sweep) {
    const bool isDown = sweep % 2 == 0;
    for (size_t at = 0; at < group.rows.size(); ++at) {
      auto &row = group.rows[isDown ? at : group.rows.size() - 1 - at];
      std::map<size_t, double> mean;
      for (size_t i : row) {
        const auto &neighbors =
            isDown ? group.items[i].before : group.items[i].after;
        double sum = 0;
        for (size_t neighbor : neighbors)
          sum += position[neighbor];
        mean[i] = neighbors.empty()
                      ? position[i]
                      : sum / static_cast<double>(neighbors.size());
      }
      std::stable_sort(row.begin(), row.end(),
                       [&](size_t a, size_t b) { return mean[a] < mean[b]; });
      number(row);
    }
  }
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// Moves the items of a row as little as possible from where they want to be,
/// so that they keep their order and distances: neighbors that are too close
/// move together.
static void placeRow(LaidGroup &group, const std::vector<size_t> &row,
                     const std::vector<double> &wanted) {
  struct Block {
    double sum, width; ///< of wanted starts; from the first to the last start
    size_t count;
    double getStart() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  std::vector<double> offsets; // of each item in its block
  std::vector<size_t> blockEnds;
  for (size_t i = 0; i < row.size(); ++i) {
    blocks.push_back({wanted[i], 0, 1});
    offsets.push_back(0);
    blockEnds.push_back(i);
    while (blocks.size() > 1) {
      const size_t split = blockEnds[blocks.size() - 2];
      const double gap =
          (group.items[row[split]].width + group.items[row[split + 1]].width) /
              2 +
          columnGap;
      Block &left = blocks[blocks.size() - 2];
      const Block right = blocks.back();
      if (left.getStart() + left.width + gap <= right.getStart())
        break;
      const double shift = left.width + gap;
      for (size_t k = split + 1; k <= i; ++k)
        offsets[k] += shift;
      left.sum += right.sum - shift * static_cast<double>(right.count);
      left.width = shift + right.width;
      left.count += right.count;
      blocks.pop_back();
      blockEnds[blocks.size() - 1] = i;
      blockEnds.resize(blocks.size());
    }
  }
  size_t first = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t i = first; i <= blockEnds[b]; ++i)
      group.items[row[i]].x = blocks[b].getStart() + offsets[i];
    first = blockEnds[b] + 1;
  }
}

/// Items want to be below those before them, then above those after them.
static void placeColumns(LaidGroup &group) {
  // Where lines end at an item that is not a point.
  std::map<std::pair<size_t, size_t>, std::pair<double, double>> ends;
  for (const ItemLine &line : group.lines) {
    const size_t second = line.bends.empty() ? line.to : line.bends.front();
    const size_t previous = line.bends.empty() ? line.from : line.bends.back();
    ends[{line.from, second}].first = line.fromOffset;
    ends[{previous, line.to}].second = line.toOffset;
  }
  for (const auto &row : group.rows)
    placeRow(group, row, std::vector<double>(row.size(), 0));
  for (int sweep = 0; sweep < 2 * numSweeps; ++sweep) {
    const bool isDown = sweep % 2 == 0;
    for (size_t at = 0; at < group.rows.size(); ++at) {
      const auto &row = group.rows[isDown ? at : group.rows.size() - 1 - at];
      std::vector<double> wanted;
      for (size_t i : row) {
        const Item &item = group.items[i];
        const auto &neighbors = isDown ? item.before : item.after;
        double sum = 0;
        for (size_t neighbor : neighbors) {
          const auto key = isDown ? std::make_pair(neighbor, i)
                                  : std::make_pair(i, neighbor);
          auto [from, to] = ends[key];
          sum += group.items[neighbor].x + (isDown ? from - to : to - from);
        }
        wanted.push_back(neighbors.empty()
                             ? item.x
                             : sum / static_cast<double>(neighbors.size()));
      }
      placeRow(group, row, wanted);
    }
  }
}

static void placeRows(LaidGroup &group, bool hasBorder) {
  double y = hasBorder ? title : border;
  for (const auto &row : group.rows) {
    double height = 0;
    bool arePorts = true;
    for (size_t i : row) {
      height = std::max(height, group.items[i].height);
      arePorts = arePorts && (group.items[i].kind == ItemKind::InPort ||
                              group.items[i].kind == ItemKind::OutPort ||
                              group.items[i].kind == ItemKind::Bend);
    }
    for (size_t i : row) {
      Item &item = group.items[i];
      // A line passes a row straight down.
      if (item.kind == ItemKind::Bend)
        item.height = height;
      item.y = y + (height - item.height) / 2;
      // Beside something tall, a start is near what it leads to.
      if (item.before.empty())
        item.y = item.kind == ItemKind::Group ? y : y + height - item.height;
    }
    y += height + (arePorts ? rowGap / 2 : rowGap);
  }
  group.height = y - rowGap + border;
  double left = std::numeric_limits<double>::max(), right = -left;
  for (const Item &item : group.items) {
    left = std::min(left, item.x - item.width / 2);
    right = std::max(right, item.x + item.width / 2);
  }
  if (group.items.empty())
    left = right = 0;
  group.width = right - left + 2 * border;
  for (Item &item : group.items) {
    item.x += border - left;
    // Ports are on the border.
    if (item.kind == ItemKind::InPort)
      item.y = 0;
    if (item.kind == ItemKind::OutPort)
      item.y = group.height;
  }
}

void Layouter::layOutGroup(int64_t index) {
  for (size_t inner = 0; inner < groups.size(); ++inner)
    if (graph.groups[inner].parent == index)
      layOutGroup(static_cast<int64_t>(inner));
  LaidGroup &group = groups[static_cast<size_t>(index)];
  for (Item &item : group.items)
    if (item.kind == ItemKind::Group) {
      item.width = groups[static_cast<size_t>(item.index)].width;
      item.height = groups[static_cast<size_t>(item.index)].height;
    }
  for (ItemLine &line : group.lines) {
    Item &from = group.items[line.from], &to = group.items[line.to];
    from.after.push_back(line.to);
    to.before.push_back(line.from);
    if (from.kind == ItemKind::Group)
      line.fromOffset = groups[static_cast<size_t>(from.index)].getPort(
          ItemKind::OutPort, line.node);
    if (to.kind == ItemKind::Group)
      line.toOffset = groups[static_cast<size_t>(to.index)].getPort(
          ItemKind::InPort, line.node);
  }
  rankItems(group.items);
  for (Item &item : group.items) {
    item.before.clear();
    item.after.clear();
  }
  addBends(group);
  fillRows(group);
  orderRows(group);
  placeColumns(group);
  placeRows(group, index != 0);
  // The title has to fit.
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
  for (const Item &item : group.items) {
    const GraphBox box{x + item.x - item.width / 2, y + item.y, item.width,
                       item.height};
    if (item.kind == ItemKind::Node)
      layout.nodes[static_cast<size_t>(item.index)] = box;
    if (item.kind == ItemKind::Group)
      place(item.index, box.x, box.y, layout);
  }
  for (const ItemLine &line : group.lines) {
    GraphLine drawn;
    drawn.isDashed = line.isDashed;
    drawn.label = line.label;
    drawn.hasArrow = group.items[line.to].kind == ItemKind::Node;
    const Item &from = group.items[line.from], &to = group.items[line.to];
    drawn.points.push_back(
        {x + from.x + line.fromOffset, y + from.y + from.height});
    for (size_t bend : line.bends) {
      const Item &item = group.items[bend];
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
    getItem(graph.nodes[i].group, ItemKind::Node, static_cast<int64_t>(i));
  for (size_t i = 1; i < graph.groups.size(); ++i)
    getItem(graph.groups[i].parent, ItemKind::Group, static_cast<int64_t>(i));
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
