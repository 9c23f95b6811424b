// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Published graph.json documentation: the JSON schema and the operation
// reference, both generated from the table, so that they agree with the reader.
#include "compiler/import/graphjson/GraphOps.h"

using namespace transom;

namespace {

/// Writes the schema.
class SchemaWriter {
public:
  explicit SchemaWriter(std::string &out) : json(out, 2) {}
  void run();

private:
  template <typename Write> void plain(const char *name, Write write);
  void scalars();
  void interface();
  void definitions();
  void reference(const char *name);
  void writeArray(const char *name, int64_t least = 0, int64_t most = -1);
  void object(const std::vector<const char *> &required);
  void closeObject();
  void attribute(const OpAttr &attr);
  void numbers(const char *type);
  void anyOperation();
  void operation(const GraphOp &op);
  void instance();
  void body();
  void graph();
  void required();

  JsonWriter json;
};

} // namespace

template <typename Write>
void SchemaWriter::plain(const char *name, Write write) {
  json.key(name);
  json.beginObject();
  write();
  json.endObject();
}

void SchemaWriter::reference(const char *name) {
  json.beginObject();
  json.member("$ref", std::string("#/$defs/") + name);
  json.endObject();
}

void SchemaWriter::writeArray(const char *name, int64_t least, int64_t most) {
  json.beginObject();
  json.member("type", "array");
  json.key("items");
  reference(name);
  if (least > 0)
    json.member("minItems", least);
  if (most >= 0)
    json.member("maxItems", most);
  json.endObject();
}

/// Opens an object schema and its properties; no others are allowed.
void SchemaWriter::object(const std::vector<const char *> &required) {
  json.beginObject();
  json.member("type", "object");
  json.member("additionalProperties", false);
  if (!required.empty()) {
    json.key("required");
    json.array(required);
  }
  json.key("properties");
  json.beginObject();
}

void SchemaWriter::closeObject() {
  json.endObject();
  json.endObject();
}

/// Writes an array schema with a plain element type.
void SchemaWriter::numbers(const char *type) {
  json.member("type", "array");
  json.key("items");
  json.beginObject();
  json.member("type", type);
  json.endObject();
}

void SchemaWriter::attribute(const OpAttr &attr) {
  json.key(attr.name);
  json.beginObject();
  json.member("description", attr.doc);
  switch (attr.kind) {
  case AttrKind::Integer:
    json.member("type", "integer");
    break;
  case AttrKind::Number:
    json.member("type", "number");
    break;
  case AttrKind::Flag:
    json.member("type", "boolean");
    break;
  case AttrKind::Tensor:
    json.member("type", "string");
    json.member("minLength", 1);
    break;
  case AttrKind::Integers:
    numbers("integer");
    break;
  case AttrKind::Numbers:
    numbers("number");
    break;
  case AttrKind::Cache:
    json.member("$ref", "#/$defs/name");
    break;
  case AttrKind::Shape:
    json.member("$ref", "#/$defs/shape");
    break;
  case AttrKind::Size:
    json.member("$ref", "#/$defs/size");
    break;
  case AttrKind::Dtype:
    json.key("enum");
    json.array(std::vector<const char *>{"f32", "i64", "bool"});
    break;
  case AttrKind::Choice:
    json.key("enum");
    json.array(attr.choices);
    break;
  case AttrKind::Value:
    json.key("type");
    json.array(std::vector<const char *>{"number", "array", "string"});
    json.member("pattern", "^-inf$");
    break;
  case AttrKind::MaskValue:
    json.key("type");
    json.array(std::vector<const char *>{"number", "string"});
    json.member("pattern", "^-inf$");
    break;
  }
  json.endObject();
}

/// Writes the keys for all operations; the conditions in `operation` refine
/// them.
void SchemaWriter::anyOperation() {
  object({"name", "op"});
  json.key("name");
  reference("name");
  plain("op", [&] {
    std::vector<const char *> names;
    for (const GraphOp &op : graphOps())
      names.push_back(op.name);
    json.key("enum");
    json.array(names);
  });
  json.key("inputs");
  writeArray("edge");
  plain("attrs", [&] { json.member("type", "object"); });
  json.key("outputs");
  writeArray("name");
  json.endObject();
  json.key("allOf");
  json.beginArray();
  for (const GraphOp &op : graphOps())
    operation(op);
  json.endArray();
  json.endObject();
}

/// `if` the op has this name, `then` it has these inputs and attributes.
void SchemaWriter::operation(const GraphOp &op) {
  std::vector<const char *> requiredAttrs, required;
  for (const OpAttr &attr : op.attrs)
    if (attr.required)
      requiredAttrs.push_back(attr.name);
  if (op.minInputs)
    required.push_back("inputs");
  if (!requiredAttrs.empty())
    required.push_back("attrs");
  json.beginObject();
  plain("if", [&] {
    json.key("properties");
    json.beginObject();
    plain("op", [&] { json.member("const", op.name); });
    json.endObject();
    // Without an op no condition applies.
    json.key("required");
    json.array(std::vector<const char *>{"op"});
  });
  plain("then", [&] {
    if (!required.empty()) {
      json.key("required");
      json.array(required);
    }
    json.key("properties");
    json.beginObject();
    plain("op", [&] { json.member("description", op.doc); });
    json.key("inputs");
    json.beginObject();
    json.member("description", op.inputs);
    if (op.minInputs)
      json.member("minItems", int64_t(op.minInputs));
    if (op.maxInputs != SIZE_MAX)
      json.member("maxItems", int64_t(op.maxInputs));
    json.endObject();
    json.key("attrs");
    object(requiredAttrs);
    for (const OpAttr &attr : op.attrs)
      attribute(attr);
    closeObject();
    json.endObject();
  });
  json.endObject();
}

void SchemaWriter::instance() {
  object({"block"});
  for (const char *key : {"name", "block"}) {
    json.key(key);
    reference("name");
  }
  json.key("repeat");
  json.beginObject();
  json.member("type", "integer");
  json.member("minimum", 1);
  json.member("maximum", 4096);
  json.endObject();
  json.key("weights");
  json.beginObject();
  json.member("type", "string");
  json.member("description",
              "prefix of the tensors' names inside; {i} is the repetition");
  json.endObject();
  json.key("inputs");
  writeArray("edge");
  json.key("outputs");
  writeArray("name");
  closeObject();
}

/// Writes the keys that graphs and blocks share.
void SchemaWriter::body() {
  json.key("caches");
  writeArray("cache");
  json.key("nodes");
  writeArray("node");
  json.key("outputs");
  writeArray("output", 1);
}

/// Writes names, edges and sizes.
void SchemaWriter::scalars() {
  plain("name", [&] {
    json.member("type", "string");
    json.member("maxLength", 255);
    json.member("pattern", "^[A-Za-z_][A-Za-z0-9_.-]*$");
  });
  // An edge is a name with an optional result index.
  plain("edge", [&] {
    json.member("type", "string");
    json.member("description", "a node, input or parameter, or node:1");
    json.member("pattern", "^[A-Za-z_][A-Za-z0-9_.-]*(:[0-9]+)?$");
  });
  // Sizes and shapes.
  plain("size", [&] {
    json.member("description", "an integer, a dim, or text such as 2*seq+1");
    json.key("type");
    json.array(std::vector<const char *>{"integer", "string"});
    json.member("minimum", 1);
  });
  json.key("shape");
  writeArray("size", 0, 8);
  // A dim is an object with an optional max.
  plain("dim", [&] {
    json.member("type", "object");
    json.member("additionalProperties", false);
    json.key("properties");
    json.beginObject();
    plain("max", [&] {
      json.member("type", "integer");
      json.member("minimum", 1);
    });
    json.endObject();
  });
}

/// Writes the graph's inputs and outputs.
void SchemaWriter::interface() {
  json.key("input");
  object({"name", "dtype", "shape"});
  for (const char *key : {"name", "mask_of"}) {
    json.key(key);
    reference("name");
  }
  plain("dtype", [&] {
    json.key("enum");
    json.array(
        std::vector<const char *>{"f32", "bf16", "f16", "i64", "i32", "bool"});
  });
  json.key("shape");
  reference("shape");
  plain("default", [&] { json.member("type", "integer"); });
  closeObject();
  // An output is an edge, or an object with name and edge.
  plain("output", [&] {
    json.key("anyOf");
    json.beginArray();
    reference("edge");
    object({"name", "edge"});
    json.key("name");
    reference("name");
    json.key("edge");
    reference("edge");
    closeObject();
    json.endArray();
  });
}

void SchemaWriter::definitions() {
  scalars();
  interface();
  // A cache has a name and sizes.
  json.key("cache");
  object({"name", "heads", "key", "value"});
  json.key("name");
  reference("name");
  for (const char *key : {"heads", "key", "value", "window"})
    plain(key, [&] {
      json.member("type", "integer");
      json.member("minimum", 1);
    });
  closeObject();
  json.key("graph");
  graph();
  // A block has inputs and a body.
  json.key("block");
  object({"nodes", "outputs"});
  json.key("inputs");
  writeArray("name");
  body();
  closeObject();
  // A node is a block instance or an operation.
  json.key("instance");
  instance();
  json.key("operation");
  anyOperation();
  plain("node", [&] {
    json.member("type", "object");
    plain("if", [&] {
      json.key("required");
      json.array(std::vector<const char *>{"block"});
    });
    json.key("then");
    reference("instance");
    json.key("else");
    reference("operation");
  });
}

/// Writes one graph in an encoder-decoder.
void SchemaWriter::graph() {
  object({"inputs", "nodes", "outputs"});
  json.key("entry");
  reference("name");
  json.key("inputs");
  writeArray("input", 1);
  body();
  closeObject();
}

/// A file has either a single graph or `graphs`.
void SchemaWriter::required() {
  json.key("required");
  json.array(std::vector<const char *>{"transom"});
  json.key("oneOf");
  json.beginArray();
  json.beginObject();
  json.key("required");
  json.array(std::vector<const char *>{"inputs", "nodes", "outputs"});
  json.endObject();
  json.beginObject();
  json.key("required");
  json.array(std::vector<const char *>{"graphs"});
  json.endObject();
  json.endArray();
}

void SchemaWriter::run() {
  json.beginObject();
  json.member("$schema", "https://json-schema.org/draft/2020-12/schema");
  json.member("$id", "graph.schema.json");
  json.member("title", "graph.json of transom");
  json.member("type", "object");
  json.member("additionalProperties", false);
  required();
  // Keys of the file itself.
  json.key("properties");
  json.beginObject();
  json.key("$schema");
  json.beginObject();
  json.member("type", "string");
  json.endObject();
  json.key("transom");
  json.beginObject();
  json.member("const", 1);
  json.endObject();
  for (const char *key : {"name", "entry"}) {
    json.key(key);
    reference("name");
  }
  json.key("weights");
  json.beginObject();
  json.member("description", "plain names of safetensors files beside this");
  numbers("string");
  json.endObject();
  json.key("labels");
  json.beginObject();
  json.member("description", "class names of the output 'logits'");
  numbers("string");
  json.endObject();
  for (auto [key, of] : {std::pair<const char *, const char *>{"dims", "dim"},
                         {"blocks", "block"}}) {
    json.key(key);
    json.beginObject();
    json.member("type", "object");
    json.key("additionalProperties");
    reference(of);
    json.endObject();
  }
  // Keys of a single graph, and `graphs`.
  json.key("inputs");
  writeArray("input", 1);
  body();
  json.key("graphs");
  object({"encoder", "decoder"});
  for (const char *key : {"encoder", "decoder"}) {
    json.key(key);
    reference("graph");
  }
  closeObject();
  json.endObject();
  // Definitions.
  json.key("$defs");
  json.beginObject();
  definitions();
  json.endObject();
  json.endObject();
}

std::string transom::graphJsonSchema() {
  std::string out;
  SchemaWriter(out).run();
  return out + "\n";
}

std::string transom::graphOpsReference() {
  std::string out =
      "# Operations of graph.json\n\n"
      "Written from the table in GraphOpTable.cpp; a test compares them.\n"
      "A *tensor* is the name of a tensor of the weights files, after the\n"
      "block's prefix; **bold** attributes must be there.\n\n"
      "| op | inputs | attributes | meaning |\n|---|---|---|---|\n";
  for (const GraphOp &op : graphOps()) {
    out += "| `" + std::string(op.name) + "` | " + op.inputs + " | ";
    for (const OpAttr &attr : op.attrs) {
      const char *mark = attr.required ? "**" : "";
      out += std::string(&attr == &op.attrs.front() ? "" : "; ") + mark + "`" +
             attr.name + "`" + mark + " " + attr.doc;
    }
    out += " | " + std::string(op.doc) + " |\n";
  }
  return out;
}
