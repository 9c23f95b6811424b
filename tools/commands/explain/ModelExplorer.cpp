// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations become nodes; functions, phases and model modules become the
// groups around them.
#include "tools/commands/explain/ModelExplorer.h"
#include "runtime/json/Json.h"
#include "tools/commands/explain/ExplainFormat.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

namespace {

/// Writes one listing as a graph.
class GraphWriter {
public:
  GraphWriter(JsonWriter &json, const IrListing &ir);

  void write();

private:
  bool isGroup(const IrOperation &operation) const;
  std::string_view getLine(const IrOperation &operation) const;
  std::string getNamespace(const IrOperation &operation) const;
  void writeNode(size_t index);
  void writeAttribute(std::string_view key, std::string_view value);

  JsonWriter &json;
  const IrListing &ir;
  std::vector<std::string_view> lines;
};

} // namespace

static std::string getId(size_t index) { return "op" + std::to_string(index); }

GraphWriter::GraphWriter(JsonWriter &json, const IrListing &ir)
    : json(json), ir(ir) {
  std::string_view rest = ir.text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

bool GraphWriter::isGroup(const IrOperation &operation) const {
  const std::string &name = ir.names[static_cast<size_t>(operation.name)];
  return name == "builtin.module" || name == "func.func" ||
         name == "kern.phase";
}

std::string_view GraphWriter::getLine(const IrOperation &operation) const {
  const auto line = static_cast<size_t>(operation.line);
  if (line >= lines.size())
    return {};
  const size_t begin = lines[line].find_first_not_of(' ');
  return begin == std::string_view::npos ? "" : lines[line].substr(begin);
}

/// Returns the symbol in a function or phase line: `@NAME` or `"NAME"`.
static std::string_view getSymbol(std::string_view line) {
  const size_t begin = line.find_first_of("@\"");
  if (begin == std::string_view::npos)
    return line.substr(0, line.find(' '));
  const char *ends = line[begin] == '@' ? "( {" : "\"";
  const size_t end = line.find_first_of(ends, begin + 1);
  return line.substr(begin + 1,
                     end == std::string_view::npos ? end : end - begin - 1);
}

/// Returns the groups around an operation, outer ones first, separated by `/`.
std::string GraphWriter::getNamespace(const IrOperation &operation) const {
  std::vector<std::string> groups;
  bool inPhase = false;
  for (int64_t at = operation.parent; at >= 0;) {
    const IrOperation &parent = ir.operations[static_cast<size_t>(at)];
    if (ir.names[static_cast<size_t>(parent.name)] != "builtin.module") {
      groups.emplace(groups.begin(), getSymbol(getLine(parent)));
      inPhase |= ir.names[static_cast<size_t>(parent.name)] == "kern.phase";
    }
    at = parent.parent;
  }
  // A phase contains operations from several model modules.
  const std::string &path =
      ir.locations[static_cast<size_t>(operation.location)];
  if (!inPhase)
    for (const std::string &module : splitPath(path))
      groups.push_back(module);
  for (std::string &group : groups)
    std::replace(group.begin(), group.end(), '/', '_');
  return join(groups, "/");
}

void GraphWriter::writeAttribute(std::string_view key, std::string_view value) {
  json.beginObject();
  json.member("key", key);
  json.member("value", value);
  json.endObject();
}

void GraphWriter::writeNode(size_t index) {
  const IrOperation &operation = ir.operations[index];
  json.beginObject();
  json.member("id", getId(index));
  json.member("label", ir.names[static_cast<size_t>(operation.name)]);
  json.member("namespace", getNamespace(operation));
  // Attributes: the IR line, the module and the origins in the model.
  json.key("attrs");
  json.beginArray();
  writeAttribute("IR", getLine(operation));
  writeAttribute("module",
                 ir.locations[static_cast<size_t>(operation.location)]);
  for (int64_t origin : operation.origins)
    writeAttribute("in the model", ir.origins[static_cast<size_t>(origin)]);
  json.endArray();
  // Edges from the operations that produce the operands.
  json.key("incomingEdges");
  json.beginArray();
  for (size_t i = 0; i < operation.operands.size(); ++i) {
    const auto source = static_cast<size_t>(operation.operands[i]);
    if (isGroup(ir.operations[source]))
      continue;
    json.beginObject();
    json.member("sourceNodeId", getId(source));
    json.member("sourceNodeOutputId", "0");
    json.member("targetNodeInputId", std::to_string(i));
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

void GraphWriter::write() {
  json.key("nodes");
  json.beginArray();
  for (size_t i = 0; i < ir.operations.size(); ++i)
    if (!isGroup(ir.operations[i]))
      writeNode(i);
  json.endArray();
}

/// Writes the graph for a module; the number in its id keeps the pass order.
static void writeGraph(JsonWriter &json, size_t number, const std::string &name,
                       const std::string &summary, const IrListing &ir) {
  json.beginObject();
  json.member("id",
              (number < 10 ? "0" : "") + std::to_string(number) + " " + name);
  json.key("groupNodeAttributes");
  json.beginObject();
  json.key("");
  json.beginObject();
  json.member("after", name);
  json.member("what it does", summary);
  json.endObject();
  json.endObject();
  GraphWriter(json, ir).write();
  json.endObject();
}

Result<std::string> tools::toModelExplorer(const Explanation &explanation) {
  if (!explanation.importedIr)
    return usageError("the explanation has no IR, of which graphs are made; "
                      "write it with 'explain --json --ir'");
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  json.member("label", explanation.model.name);
  json.key("graphs");
  json.beginArray();
  size_t number = 0;
  writeGraph(json, number, "import", "the model as it was read",
             *explanation.importedIr);
  for (const ExplainedPass &pass : explanation.passes)
    if (pass.ir)
      writeGraph(json, ++number, pass.name, pass.summary, *pass.ir);
  json.endArray();
  json.member("graphSorting", "name_asc");
  json.endObject();
  return text + "\n";
}
