// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and node order in a graph.json body: nodes may be written in any order;
// names are unique, each edge has a source, and no node depends on itself.
#include "compiler/import/graphjson/GraphFile.h"
#include "runtime/base/Suggest.h"
#include <set>

using namespace transom;

namespace {

/// The definition of a name in a body.
struct Definition {
  static constexpr size_t anInput = SIZE_MAX;
  size_t node = anInput;
  JsonValue at;
};

/// Checks the edges in one body and sorts its nodes.
class BodyOrder {
public:
  explicit BodyOrder(GraphBody &body) : body(body) {}
  Result<void> run();

private:
  Result<void> define(const std::string &name, Definition definition);
  Result<void> visit(size_t start);
  Result<const Definition *> find(const GraphEdge &edge) const;
  Error cycleError(size_t node) const;
  void findUnread();

  GraphBody &body;
  std::map<std::string, Definition> names;
  enum class Mark : char { New, Open, Done };
  std::vector<Mark> marks;
  std::vector<std::pair<size_t, size_t>> stack; // node, its next input
  std::vector<size_t> order;
};

} // namespace

Error transom::usedTwice(const std::string &name, JsonValue first,
                         JsonValue second) {
  return second.error("name '" + name + "' is used twice; first in line " +
                      std::to_string(first.line()) + ", '" + first.pointer() +
                      "'");
}

Result<void> BodyOrder::define(const std::string &name, Definition definition) {
  auto [known, isNew] = names.emplace(name, definition);
  return isNew ? Result<void>()
               : usedTwice(name, known->second.at, definition.at);
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

/// Depth-first search without recursion; a node is done after its inputs.
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

/// Adds notes for nodes that no other node and no output reads.
void BodyOrder::findUnread() {
  std::vector<bool> isRead(body.nodes.size());
  auto read = [&](const GraphEdge &edge) {
    const size_t node = names.find(edge.source)->second.node;
    if (node != Definition::anInput)
      isRead[node] = true;
  };
  for (const GraphNode &node : body.nodes)
    for (const GraphEdge &edge : node.inputs)
      read(edge);
  for (const GraphOutput &output : body.outputs)
    read(output.edge);
  for (size_t i = 0; i < body.nodes.size(); ++i)
    if (!isRead[i])
      body.notes.push_back(body.nodes[i].at.where() + ": nothing reads node '" +
                           body.nodes[i].name + "'");
}

Result<void> BodyOrder::run() {
  for (const GraphParameter &input : body.inputs)
    if (Result<void> done = define(input.name, {Definition::anInput, input.at});
        !done)
      return done;
  // Define node and result names.
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    const GraphNode &node = body.nodes[i];
    if (Result<void> done = define(node.name, {i, node.at}); !done)
      return done;
    for (const std::string &output : node.outputNames)
      if (output != node.name)
        if (Result<void> done = define(output, {i, node.at}); !done)
          return done;
  }
  // Sort the nodes, and check the output edges.
  marks.assign(body.nodes.size(), Mark::New);
  for (size_t i = 0; i < body.nodes.size(); ++i)
    if (Result<void> done = visit(i); !done)
      return done;
  for (const GraphOutput &output : body.outputs)
    if (Result<const Definition *> found = find(output.edge); !found)
      return found.takeError();
  findUnread();
  // Store the nodes in the new order.
  std::vector<GraphNode> sorted;
  for (size_t node : order)
    sorted.push_back(std::move(body.nodes[node]));
  body.nodes = std::move(sorted);
  return {};
}

Result<void> transom::orderBody(GraphBody &body) {
  return BodyOrder(body).run();
}

std::vector<std::string> transom::getNotes(const GraphFile &file) {
  std::vector<std::string> notes;
  std::set<std::string> used;
  auto visit = [&](const GraphBody &body) {
    notes.insert(notes.end(), body.notes.begin(), body.notes.end());
    for (const GraphNode &node : body.nodes)
      used.insert(node.block);
  };
  if (file.encoder)
    visit(file.encoder->body);
  visit(file.main.body);
  for (const auto &[name, block] : file.blocks)
    visit(block);
  for (const auto &[name, block] : file.blocks)
    if (!used.count(name))
      notes.push_back("no node names block '" + name + "'");
  return notes;
}

std::vector<std::pair<std::string, int64_t>>
transom::getSymbols(const GraphFile &file) {
  const bool decoder = file.main.role == GraphRole::Decoder;
  std::vector<std::pair<std::string, int64_t>> symbols;
  if (file.encoder || !decoder)
    for (const GraphDim &dim : (file.encoder ? *file.encoder : file.main).dims)
      symbols.push_back({dim.name, dim.largest});
  if (decoder)
    for (const char *name : {"keys", "rows", "wanted"})
      symbols.push_back({name, -1});
  if (file.encoder)
    for (const char *name : {"keys1", "rows1"})
      symbols.push_back({name, -1});
  return symbols;
}
