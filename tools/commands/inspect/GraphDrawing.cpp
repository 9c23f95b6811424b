// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names come from user files, so they are escaped for each output language.
#include "tools/commands/inspect/GraphDrawing.h"
#include "runtime/base/Utf8.h"
#include "tools/commands/inspect/GraphLayout.h"
#include <array>
#include <map>

using namespace transom;
using namespace transom::tools;

/// Class and colors for each node kind, in the light and dark schemes.
namespace {
struct KindStyle {
  const char *name, *light, *lightLine, *dark, *darkLine;
};
} // namespace

static constexpr std::array<KindStyle, 8> kindStyles = {{
    {"input", "#f4f4f5", "#a1a1aa", "#27272a", "#71717a"},
    {"output", "#f4f4f5", "#a1a1aa", "#27272a", "#71717a"},
    {"embedding", "#d7f3ee", "#3f9f90", "#123a34", "#4fb3a3"},
    {"product", "#dbe9fb", "#4a86cf", "#16304f", "#5b97e0"},
    {"attention", "#ece1fa", "#8f63cc", "#33204d", "#a57ee0"},
    {"norm", "#e4f3d8", "#6fa545", "#243a16", "#82ba56"},
    {"activation", "#fdeacb", "#d39433", "#45300d", "#e0a84c"},
    {"other", "#ffffff", "#b4b4bb", "#1f1f23", "#66666e"},
}};

static const KindStyle &getStyle(DrawnKind kind) {
  return kindStyles[static_cast<size_t>(kind)];
}

/// Escapes XML special characters and control characters.
static std::string escapeXml(const std::string &text) {
  std::string escaped;
  for (char c : utf8::printable(text, 160))
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

/// Formats a number with at most one decimal.
static std::string number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", value);
  std::string result = text;
  if (result.size() > 2 && result.substr(result.size() - 2) == ".0")
    result.resize(result.size() - 2);
  return result;
}

static std::string getStyleSheet() {
  // Each node kind has colors for both schemes.
  std::string light, dark;
  for (const KindStyle &style : kindStyles) {
    const std::string name = style.name;
    light += "." + name + "{fill:" + style.light +
             ";stroke:" + style.lightLine + "}";
    dark +=
        "." + name + "{fill:" + style.dark + ";stroke:" + style.darkLine + "}";
  }
  // Shared rules, then the dark scheme.
  return "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,"
         "'DejaVu Sans',sans-serif;fill:#18181b;text-anchor:middle}"
         ".t{font-size:13px;font-weight:600}.d{font-size:10.5px;fill:#5b5b66}"
         ".s{font-size:10px;fill:#71717a;text-anchor:start;paint-order:stroke;"
         "stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}"
         ".g{font-size:13px;font-weight:700;text-anchor:start;fill:#3f3f46}"
         ".r{font-size:13px;font-weight:700;text-anchor:end;fill:#8f63cc}"
         ".page{fill:#ffffff}.box{fill:#71717a;fill-opacity:.06;stroke:#a1a1aa;"
         "stroke-dasharray:5 4}"
         ".line{fill:none;stroke:#8a8a94;stroke-width:1.3}"
         ".dash{stroke-dasharray:2 4}.tip{fill:#8a8a94}" +
         light +
         "@media(prefers-color-scheme:dark){text{fill:#f4f4f5}"
         ".d,.s{fill:#a1a1aa}.s{stroke:#131316}.g{fill:#d4d4d8}.r{fill:#c4a7f0}"
         ".page{fill:#131316}.box{stroke:#52525b}.line{stroke:#77777f}"
         ".tip{fill:#77777f}" +
         dark + "}";
}

/// Returns a curve that leaves and enters each point vertically.
static std::string getPath(const GraphLine &line) {
  std::string path =
      "M" + number(line.points[0].x) + " " + number(line.points[0].y);
  for (size_t i = 1; i < line.points.size(); ++i) {
    const GraphPoint &from = line.points[i - 1], &to = line.points[i];
    const double middle = (from.y + to.y) / 2;
    path += "C" + number(from.x) + " " + number(middle) + " " + number(to.x) +
            " " + number(middle) + " " + number(to.x) + " " + number(to.y);
  }
  return path;
}

static void addLine(std::string &svg, const GraphLine &line) {
  svg += "<path class=\"line" + std::string(line.isDashed ? " dash" : "") +
         "\" d=\"" + getPath(line) + "\"/>\n";
  const GraphPoint &end = line.points.back();
  if (line.hasArrow)
    svg += "<path class=\"tip\" d=\"M" + number(end.x) + " " + number(end.y) +
           "l-3.5 -7h7z\"/>\n";
}

static void addText(std::string &svg, const char *style, double x, double y,
                    const std::string &text) {
  if (!text.empty())
    svg += "<text class=\"" + std::string(style) + "\" x=\"" + number(x) +
           "\" y=\"" + number(y) + "\">" + escapeXml(text) + "</text>\n";
}

static void addNode(std::string &svg, const DrawnNode &node,
                    const GraphBox &box) {
  const bool isEnd =
      node.kind == DrawnKind::Input || node.kind == DrawnKind::Output;
  svg += "<rect class=\"" + std::string(getStyle(node.kind).name) + "\" x=\"" +
         number(box.x) + "\" y=\"" + number(box.y) + "\" width=\"" +
         number(box.width) + "\" height=\"" + number(box.height) + "\" rx=\"" +
         (isEnd ? number(box.height / 2) : "7") + "\"/>\n";
  const double middle = box.x + box.width / 2;
  addText(svg, "t", middle, box.y + 18, node.title);
  addText(svg, "d", middle, box.y + 33, node.detail);
}

static void addGroup(std::string &svg, const DrawnGroup &group,
                     const GraphBox &box) {
  svg += "<rect class=\"box\" x=\"" + number(box.x) + "\" y=\"" +
         number(box.y) + "\" width=\"" + number(box.width) + "\" height=\"" +
         number(box.height) + "\" rx=\"12\"/>\n";
  addText(svg, "g", box.x + 12, box.y + 19, group.title);
  addText(svg, "r", box.x + box.width - 12, box.y + 19, group.repeats);
}

std::string tools::drawSvg(const ModelGraph &graph) {
  const GraphLayout layout = layOut(graph);
  const double top = 34;
  const double width = layout.groups[0].width,
               height = layout.groups[0].height + top;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                    number(width) + "\" height=\"" + number(height) +
                    "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
                    "\" role=\"img\">\n<title>" +
                    escapeXml(graph.groups[0].title) + "</title>\n<style>" +
                    getStyleSheet() + "</style>\n";
  svg += "<rect class=\"page\" width=\"" + number(width) + "\" height=\"" +
         number(height) + "\"/>\n";
  addText(svg, "g", 20, 26, graph.groups[0].title);
  svg += "<g transform=\"translate(0 " + number(top) + ")\">\n";
  for (size_t i = 1; i < graph.groups.size(); ++i)
    addGroup(svg, graph.groups[i], layout.groups[i]);
  for (const GraphLine &line : layout.lines)
    addLine(svg, line);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    addNode(svg, graph.nodes[i], layout.nodes[i]);
  // Several shapes for one value, such as before and after a reshape, are
  // stacked.
  std::map<std::pair<double, double>, int> labels;
  for (const GraphLine &line : layout.lines)
    if (const GraphPoint &start = line.points[0]; !line.label.empty())
      addText(svg, "s", start.x + 5,
              start.y + 13 + 11 * labels[{start.x, start.y}]++, line.label);
  return svg + "</g>\n</svg>\n";
}

//===----------------------------------------------------------------------===//
// Graphviz
//===----------------------------------------------------------------------===//

/// Returns a DOT string literal: quotes and backslashes are escaped.
static std::string quoteDot(const std::string &text) {
  std::string quoted = "\"";
  for (char c : utf8::printable(text, 160)) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// Returns a label with two lines.
static std::string joinLabel(const std::string &first,
                             const std::string &second) {
  std::string label = quoteDot(first);
  if (second.empty())
    return label;
  label.pop_back();
  return label + "\\n" + quoteDot(second).substr(1);
}

static void addDotGroup(std::string &dot, const ModelGraph &graph,
                        int64_t group, const std::string &indent) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const DrawnNode &node = graph.nodes[i];
    if (node.group != group)
      continue;
    const KindStyle &style = getStyle(node.kind);
    dot += indent + "n" + std::to_string(i) +
           " [label=" + joinLabel(node.title, node.detail) + ", fillcolor=\"" +
           style.light + "\", color=\"" + style.lightLine + "\"];\n";
  }
  for (size_t i = 0; i < graph.groups.size(); ++i) {
    const DrawnGroup &inner = graph.groups[i];
    if (inner.parent != group)
      continue;
    std::string label = inner.title;
    if (!inner.repeats.empty())
      label += "  " + inner.repeats;
    dot += indent + "subgraph cluster_" + std::to_string(i) + " {\n" + indent +
           "  label=" + quoteDot(label) + ";\n";
    addDotGroup(dot, graph, static_cast<int64_t>(i), indent + "  ");
    dot += indent + "}\n";
  }
}

std::string tools::drawDot(const ModelGraph &graph) {
  std::string dot =
      "digraph " + quoteDot(graph.groups[0].title) +
      " {\n  label=" + quoteDot(graph.groups[0].title) +
      ";\n  labelloc=t;\n  node [shape=box, style=\"rounded,filled\", "
      "fontname=\"sans-serif\", fontsize=11];\n  edge "
      "[fontname=\"sans-serif\", "
      "fontsize=9, color=\"#8a8a94\"];\n  graph [fontname=\"sans-serif\", "
      "style=\"rounded,dashed\", color=\"#a1a1aa\"];\n";
  addDotGroup(dot, graph, 0, "  ");
  for (const DrawnEdge &edge : graph.edges)
    dot += "  n" + std::to_string(edge.from) + " -> n" +
           std::to_string(edge.to) +
           (edge.shape.empty() ? " [style=dashed]"
                               : " [label=" + quoteDot(edge.shape) + "]") +
           ";\n";
  return dot + "}\n";
}
