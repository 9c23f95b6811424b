// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are longest paths. Items are ordered by the mean position of their
// neighbors, and placed as close to it as their widths allow.
#include "tools/commands/inspect/GraphRows.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace transom;
using namespace transom::tools;

static constexpr double columnGap = 26, rowGap = 44, border = 20, title = 26;
static constexpr int numSweeps = 12;

/// Sorts the items topologically. Groups may form cycles, if a value leaves a
/// group and another one returns to it; a cycle starts with its first item.
static std::vector<size_t> sortItems(const std::vector<GraphItem> &items) {
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

/// Drops backward lines, to determine the row order. Returns the items in
/// topological order.
static std::vector<size_t> breakCycles(std::vector<GraphItem> &items) {
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

/// Assigns each item to the row after its last predecessor. Items that lead
/// from no port to a single item are placed right before it.
static void rankItems(std::vector<GraphItem> &items) {
  // Ranks are longest paths from the ports.
  const std::vector<size_t> order = breakCycles(items);
  size_t last = 0;
  for (size_t i : order) {
    items[i].rank = items[i].kind == GraphItemKind::InPort ? 0 : 1;
    for (size_t before : items[i].before)
      items[i].rank = std::max(items[i].rank, items[before].rank + 1);
    last = std::max(last, items[i].rank);
  }
  // Find items that no port leads to.
  std::vector<bool> isFree(items.size());
  for (size_t i : order) {
    isFree[i] = items[i].kind != GraphItemKind::InPort;
    for (size_t before : items[i].before)
      isFree[i] = isFree[i] && isFree[before];
  }
  // Move these items down to their first user.
  for (size_t at = order.size(); at-- > 0;) {
    GraphItem &item = items[order[at]];
    if (item.kind == GraphItemKind::OutPort)
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
  for (GraphItemLine &line : group.lines) {
    size_t from = line.from;
    const size_t last = group.items[line.to].rank;
    if (last <= group.items[from].rank)
      continue; // backward line
    for (size_t rank = group.items[from].rank + 1; rank < last; ++rank) {
      GraphItem bend;
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
  for (const GraphItem &item : group.items)
    last = std::max(last, item.rank);
  group.rows.resize(last + 1);
  for (size_t i = 0; i < group.items.size(); ++i)
    group.rows[group.items[i].rank].push_back(i);
  group.rows.erase(std::remove_if(group.rows.begin(), group.rows.end(),
                                  [](const auto &row) { return row.empty(); }),
                   group.rows.end());
}

/// Offsets from the item centers at which the line between two items in
/// adjacent rows begins and ends.
using LineEnds = std::map<std::pair<size_t, size_t>, std::pair<double, double>>;

static LineEnds getLineEnds(const LaidGroup &group) {
  LineEnds ends;
  for (size_t i = 0; i < group.items.size(); ++i)
    for (size_t after : group.items[i].after)
      ends[{i, after}] = {0, 0};
  for (const GraphItemLine &line : group.lines) {
    const size_t second = line.bends.empty() ? line.to : line.bends.front();
    const size_t previous = line.bends.empty() ? line.from : line.bends.back();
    ends[{line.from, second}].first = line.fromOffset;
    ends[{previous, line.to}].second = line.toOffset;
  }
  return ends;
}

/// Orders the items in each row by the mean position of their neighbors,
/// sweeping down and up alternately. Items with the same single neighbor are
/// ordered by their line ends there.
static void orderRows(LaidGroup &group) {
  constexpr double perColumn = 1e-4; // less than the next position
  // Start with positions from the initial order, centered.
  const LineEnds ends = getLineEnds(group);
  std::vector<double> position(group.items.size());
  auto number = [&](const std::vector<size_t> &row) {
    for (size_t i = 0; i < row.size(); ++i)
      position[row[i]] =
          static_cast<double>(i) + 0.5 - static_cast<double>(row.size()) / 2;
  };
  for (const auto &row : group.rows)
    number(row);
  // Sort each row by the neighbors in the previous row.
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
          sum += position[neighbor] +
                 perColumn * (isDown ? ends.at({neighbor, i}).first
                                     : ends.at({i, neighbor}).second);
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

/// Moves the items in a row as little as possible from their target positions
/// while keeping their order and distances: neighbors that are too close move
/// together.
static void placeRow(LaidGroup &group, const std::vector<size_t> &row,
                     const std::vector<double> &targets) {
  struct Block {
    double sum, width; ///< sum of target starts; first to last start
    size_t count;
    double getStart() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  std::vector<double> offsets; // item offsets in their block
  std::vector<size_t> blockEnds;
  // Merge blocks while they overlap.
  for (size_t i = 0; i < row.size(); ++i) {
    blocks.push_back({targets[i], 0, 1});
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
  // Assign positions from the final blocks.
  size_t first = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t i = first; i <= blockEnds[b]; ++i)
      group.items[row[i]].x = blocks[b].getStart() + offsets[i];
    first = blockEnds[b] + 1;
  }
}

/// Aligns items with their predecessors, then with their successors.
static void placeColumns(LaidGroup &group) {
  const LineEnds ends = getLineEnds(group);
  // Start with packed rows around the center.
  for (const auto &row : group.rows)
    placeRow(group, row, std::vector<double>(row.size(), 0));
  // Sweep down and up alternately.
  for (int sweep = 0; sweep < 2 * numSweeps; ++sweep) {
    const bool isDown = sweep % 2 == 0;
    for (size_t at = 0; at < group.rows.size(); ++at) {
      const auto &row = group.rows[isDown ? at : group.rows.size() - 1 - at];
      std::vector<double> targets;
      for (size_t i : row) {
        const GraphItem &item = group.items[i];
        const auto &neighbors = isDown ? item.before : item.after;
        double sum = 0;
        for (size_t neighbor : neighbors) {
          const auto key = isDown ? std::make_pair(neighbor, i)
                                  : std::make_pair(i, neighbor);
          auto [from, to] = ends.at(key);
          sum += group.items[neighbor].x + (isDown ? from - to : to - from);
        }
        targets.push_back(neighbors.empty()
                              ? item.x
                              : sum / static_cast<double>(neighbors.size()));
      }
      placeRow(group, row, targets);
    }
  }
}

static void setHeights(LaidGroup &group, bool hasBorder) {
  double y = hasBorder ? title : border;
  for (const auto &row : group.rows) {
    double height = 0;
    bool arePorts = true;
    for (size_t i : row) {
      height = std::max(height, group.items[i].height);
      arePorts = arePorts && (group.items[i].kind == GraphItemKind::InPort ||
                              group.items[i].kind == GraphItemKind::OutPort ||
                              group.items[i].kind == GraphItemKind::Bend);
    }
    for (size_t i : row) {
      GraphItem &item = group.items[i];
      // A line passes a row straight down.
      if (item.kind == GraphItemKind::Bend)
        item.height = height;
      item.y = y + (height - item.height) / 2;
      // In a tall row, place a start near its successor.
      if (item.before.empty())
        item.y =
            item.kind == GraphItemKind::Group ? y : y + height - item.height;
    }
    y += height + (arePorts ? rowGap / 2 : rowGap);
  }
  group.height = y - rowGap + border;
  double left = std::numeric_limits<double>::max(), right = -left;
  for (const GraphItem &item : group.items) {
    left = std::min(left, item.x - item.width / 2);
    right = std::max(right, item.x + item.width / 2);
  }
  if (group.items.empty())
    left = right = 0;
  group.width = right - left + 2 * border;
  for (GraphItem &item : group.items) {
    item.x += border - left;
    // Ports are on the border.
    if (item.kind == GraphItemKind::InPort)
      item.y = 0;
    if (item.kind == GraphItemKind::OutPort)
      item.y = group.height;
  }
}

void tools::arrangeRows(LaidGroup &group, bool hasBorder) {
  for (const GraphItemLine &line : group.lines) {
    group.items[line.from].after.push_back(line.to);
    group.items[line.to].before.push_back(line.from);
  }
  rankItems(group.items);
  for (GraphItem &item : group.items) {
    item.before.clear();
    item.after.clear();
  }
  addBends(group);
  fillRows(group);
  orderRows(group);
  placeColumns(group);
  setHeights(group, hasBorder);
}
