// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and order of the nodes of a graph.json's body: nodes may be written in
// any order; each name stands for one thing, each edge leads to one, and no
// node reads what it makes.
#include "compiler/import/graphjson/GraphFile.h"
#include "runtime/base/Suggest.h"

using namespace transom;

namespace {

/// What a name of a body stands for.
struct Definition {
  static constexpr size_t anInput = SIZE_MAX;
  size_t node = anInput;
};

/// Checks the edges of one body and puts its nodes in order.
class BodyOrder {
public:
  explicit BodyOrder(GraphBody &body) : body(body) {}
  Result<void> run();

private:
  Result<void> define(const std::string &name, Definition definition,
                      JsonValue at);
  Result<void> visit(size_t start);
  Result<const Definition *> find(const GraphEdge &edge) const;
  Error cycleError(size_t node) const;

  GraphBody &body;
  std::map<std::string, Definition> names;
  enum class Mark : char { New, Open, Done };
  std::vector<Mark> marks;
  std::vector<std::pair<size_t, size_t>> stack; // node, its next input
  std::vector<size_t> order;
};

} // namespace

Result<void> BodyOrder::define(const std::string &name, Definition definition,
                               JsonValue at) {
  if (names.emplace(name, definition).second)
    return {};
  return at.error("name '" + name + "' is used twice");
}

Result<const Definition *> BodyOrder::find(const GraphEdge &edge) const {
  auto found = names.find(edge.source);
  if (found != names.end())
    return &found->second;
  std::vector<std::string> candidates;
  for (const auto &[name, definition] : names)
    candidates.push_back(name);
  const std::string suggestion = suggest(edge.source, candidates);
  constexpr size_t shown = 16;
  return edge.at.error("edge '" + edge.source + "' leads to nothing: no node " +
                       "or input of that name" +
                       (suggestion.empty() && candidates.size() <= shown
                            ? "; supported: " + joinNames(candidates)
                            : suggestion));
}

Error BodyOrder::cycleError(size_t node) const {
  std::string path;
  bool inside = false;
  for (const auto &[open, next] : stack) {
    inside = inside || open == node;
    if (inside)
      path += body.nodes[open].name + " -> ";
  }
  return body.nodes[node].at.error("cycle: " + path + body.nodes[node].name);
}

/// Depth first, without recursion; a node is done when its inputs are.
Result<void> BodyOrder::visit(size_t start) {
  if (marks[start] == Mark::Done)
    return {};
  marks[start] = Mark::Open;
  stack.push_back({start, 0});
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next == body.nodes[node].inputs.size()) {
      marks[node] = Mark::Done;
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    TRANSOM_ASSIGN(const Definition *source,
                   find(body.nodes[node].inputs[next++]));
    size_t from = source->node;
    if (from == Definition::anInput || marks[from] == Mark::Done)
      continue;
    if (marks[from] == Mark::Open)
      return cycleError(from);
    marks[from] = Mark::Open;
    stack.push_back({from, 0});
  }
  return {};
}

Result<void> BodyOrder::run() {
  for (const GraphParameter &input : body.inputs)
    if (Result<void> done = define(input.name, {}, input.at); !done)
      return done;
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const GraphNode &node = body.nodes[i];
    if (Result<void> done = define(node.name, {i}, node.at); !done)
      return done;
    for (const std::string &output : node.outputNames)
      if (output != node.name)
        if (Result<void> done = define(output, {i}, node.at); !done)
          return done;
  }
  marks.assign(body.nodes.size(), Mark::New);
  for (size_t i = 0; i < body.nodes.size(); ++i)
    if (Result<void> done = visit(i); !done)
      return done;
  for (const GraphOutput &output : body.outputs)
    if (Result<const Definition *> found = find(output.edge); !found)
      return found.takeError();
  std::vector<GraphNode> sorted;
  for (size_t node : order)
    sorted.push_back(std::move(body.nodes[node]));
  body.nodes = std::move(sorted);
  return {};
}

Result<void> transom::orderBody(GraphBody &body) {
  return BodyOrder(body).run();
}
