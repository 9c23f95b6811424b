// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads graph.json keys, with one function for each object kind.
#include "compiler/import/graphjson/GraphFile.h"
#include "compiler/import/Limits.h"
#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include <charconv>
#include <set>

using namespace transom;

/// Limits as documented in compiler/import/README.md.
static constexpr int64_t maxRepeat = 4096;
static constexpr size_t maxNodes = 1000000;

Result<std::string> transom::readName(JsonValue value,
                                      const std::string &what) {
  TRANSOM_ASSIGN(std::string_view text, value.asString());
  bool good = !text.empty() && text.size() <= 255;
  for (size_t i = 0; good && i < text.size(); ++i) {
    unsigned char c = text[i];
    good =
        isalpha(c) || c == '_' || (i && (isdigit(c) || c == '.' || c == '-'));
  }
  if (!good)
    return value.error("bad name of " + what + " '" + std::string(text) +
                       "'; names are letters, digits, '_', '.' and '-', and "
                       "begin with a letter or '_'");
  return std::string(text);
}

/// Runs `read` for each element in an optional array.
template <typename Read>
static Result<void> forEach(JsonValue object, const char *key, Read read) {
  std::optional<JsonValue> array = object.find(key);
  if (!array)
    return {};
  if (Result<void> kind = array->expectArray(); !kind)
    return kind;
  for (JsonValue element : array->elements())
    if (Result<void> done = read(element); !done)
      return done;
  return {};
}

//===----------------------------------------------------------------------===//
// Edges and nodes
//===----------------------------------------------------------------------===//

static Result<GraphEdge> readEdge(JsonValue value) {
  TRANSOM_ASSIGN(std::string_view text, value.asString());
  GraphEdge edge{std::string(text), 0, value};
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return edge;
  std::string_view number = text.substr(colon + 1);
  auto [end, problem] = std::from_chars(
      number.data(), number.data() + number.size(), edge.result);
  if (problem != std::errc() || end != number.data() + number.size())
    return value.error("bad edge '" + std::string(text) +
                       "'; an edge is 'node' or 'node:1'");
  edge.source = std::string(text.substr(0, colon));
  return edge;
}

/// Reads the keys of a block instance.
static Result<void> readInstance(JsonValue value, GraphNode &node) {
  TRANSOM_ASSIGN(std::string block, readName(*value.find("block"), "a block"));
  node.block = block;
  if (std::optional<JsonValue> repeat = value.find("repeat")) {
    TRANSOM_ASSIGN(int64_t count, repeat->asInt(1, maxRepeat));
    node.repeat = count;
  }
  if (std::optional<JsonValue> prefix = value.find("weights")) {
    TRANSOM_ASSIGN(std::string_view text, prefix->asString());
    node.weights = std::string(text);
  }
  return value.expectOnlyKeys(
      {"name", "block", "repeat", "weights", "inputs", "outputs"});
}

static Result<void> readOperation(JsonValue value, GraphNode &node) {
  TRANSOM_ASSIGN(JsonValue op, value.get("op"));
  TRANSOM_ASSIGN(std::string_view name, op.asString());
  node.op = std::string(name);
  node.attrs = value.find("attrs");
  if (node.attrs)
    if (Result<void> kind = node.attrs->expectObject(); !kind)
      return kind;
  return value.expectOnlyKeys({"name", "op", "inputs", "attrs", "outputs"});
}

static Result<GraphNode> readNode(JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  GraphNode node{"", "", "", {}, {}, {}, 0, "", value};
  bool instance = value.find("block").has_value();
  TRANSOM_TRY(instance ? readInstance(value, node)
                       : readOperation(value, node));
  // The default instance name is the block's name.
  std::optional<JsonValue> named =
      value.find(instance && !value.find("name") ? "block" : "name");
  if (!named)
    return value.error("missing key 'name'");
  TRANSOM_ASSIGN(std::string name, readName(*named, "a node"));
  node.name = name;
  Result<void> inputs = forEach(value, "inputs", [&](JsonValue each) {
    Result<GraphEdge> edge = readEdge(each);
    if (!edge)
      return Result<void>(edge.takeError());
    node.inputs.push_back(*edge);
    return Result<void>();
  });
  if (!inputs)
    return inputs.takeError();
  Result<void> outputs = forEach(value, "outputs", [&](JsonValue each) {
    Result<std::string> output = readName(each, "a result");
    if (!output)
      return Result<void>(output.takeError());
    node.outputNames.push_back(*output);
    return Result<void>();
  });
  if (!outputs)
    return outputs.takeError();
  return node;
}

//===----------------------------------------------------------------------===//
// Bodies, blocks, the file
//===----------------------------------------------------------------------===//

/// Reads an output: an edge, or `{"name", "edge"}`.
static Result<GraphOutput> readOutput(JsonValue value) {
  JsonValue at = value;
  std::optional<std::string> given;
  if (value.isObject()) {
    if (Result<void> keys = value.expectOnlyKeys({"name", "edge"}); !keys)
      return keys.takeError();
    Result<JsonValue> edge = value.get("edge"), name = value.get("name");
    if (!edge || !name)
      return edge ? name.takeError() : edge.takeError();
    TRANSOM_ASSIGN(std::string text, readName(*name, "a result"));
    given = text;
    at = *edge;
  }
  TRANSOM_ASSIGN(GraphEdge edge, readEdge(at));
  std::string name = given ? *given
                     : edge.result
                         ? edge.source + "." + std::to_string(edge.result)
                         : edge.source;
  return GraphOutput{name, edge};
}

static Result<GraphCache> readCache(JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  if (Result<void> keys =
          value.expectOnlyKeys({"name", "heads", "key", "value", "window"});
      !keys)
    return keys.takeError();
  TRANSOM_ASSIGN(JsonValue named, value.get("name"));
  TRANSOM_ASSIGN(std::string name, readName(named, "a cache"));
  GraphCache cache{name, 0, 0, 0, 0, value};
  for (auto [key, into] :
       {std::pair<const char *, int64_t *>{"heads", &cache.heads},
        {"key", &cache.key},
        {"value", &cache.value}}) {
    TRANSOM_ASSIGN(JsonValue size, value.get(key));
    TRANSOM_ASSIGN(int64_t number, size.asInt(1, maxHeadSize));
    *into = number;
  }
  if (std::optional<JsonValue> window = value.find("window")) {
    TRANSOM_ASSIGN(int64_t number, window->asInt(1, maxDim));
    cache.window = number;
  }
  return cache;
}

static Result<void> readCaches(JsonValue object, GraphBody &body) {
  std::map<std::string, JsonValue> names;
  return forEach(object, "caches", [&](JsonValue each) {
    Result<GraphCache> cache = readCache(each);
    if (!cache)
      return Result<void>(cache.takeError());
    auto [first, isNew] = names.emplace(cache->name, each);
    if (!isNew)
      return Result<void>(usedTwice(cache->name, first->second, each));
    body.caches.push_back(*cache);
    return Result<void>();
  });
}

/// Reads `caches`, `nodes` and `outputs`; `inputs` have been read.
static Result<void> readBody(JsonValue object, GraphBody &body) {
  if (Result<void> caches = readCaches(object, body); !caches)
    return caches;
  for (const char *key : {"nodes", "outputs"})
    if (Result<JsonValue> there = object.get(key); !there)
      return there.takeError();

  // Read nodes, then outputs, whose names must be unique.
  if (object.find("nodes")->size() > maxNodes)
    return object.find("nodes")->error("more than " + std::to_string(maxNodes) +
                                       " nodes");
  Result<void> nodes = forEach(object, "nodes", [&](JsonValue each) {
    Result<GraphNode> node = readNode(each);
    if (!node)
      return Result<void>(node.takeError());
    body.nodes.push_back(std::move(*node));
    return Result<void>();
  });
  if (!nodes)
    return nodes;
  std::map<std::string, JsonValue> outputNames;
  Result<void> outputs = forEach(object, "outputs", [&](JsonValue each) {
    Result<GraphOutput> output = readOutput(each);
    if (!output)
      return Result<void>(output.takeError());
    auto [first, isNew] = outputNames.emplace(output->name, each);
    if (!isNew)
      return Result<void>(usedTwice(output->name, first->second, each));
    body.outputs.push_back(*output);
    return Result<void>();
  });
  if (!outputs)
    return outputs;
  if (body.outputs.empty())
    return object.find("outputs")->error("no outputs");
  return orderBody(body);
}

static Result<GraphBody> readBlock(JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  if (Result<void> keys =
          value.expectOnlyKeys({"inputs", "caches", "nodes", "outputs"});
      !keys)
    return keys.takeError();
  GraphBody body;
  Result<void> inputs = forEach(value, "inputs", [&](JsonValue each) {
    Result<std::string> name = readName(each, "a parameter");
    if (!name)
      return Result<void>(name.takeError());
    body.inputs.push_back({*name, each});
    return Result<void>();
  });
  if (!inputs)
    return inputs.takeError();
  TRANSOM_TRY(readBody(value, body));
  return body;
}

/// Returns true if the graph or one of its blocks declares caches.
static bool hasCaches(JsonValue root) {
  bool found = root.find("caches").has_value();
  if (std::optional<JsonValue> blocks = root.find("blocks"))
    for (JsonValue::Member member : blocks->members())
      found = found || (member.value.isObject() && member.value.find("caches"));
  return found;
}

/// Returns true for names that passes use for their own sizes, and names in
/// entries that the runtime derives from a decoder. A decoder's rows are
/// `rows`.
static bool isReservedDim(const std::string &name, bool decoder) {
  if (decoder && name == "rows")
    return false;
  size_t digits = name.find_last_not_of("0123456789") + 1;
  std::string stem = name.substr(0, digits);
  return stem == "rows" || stem == "keys" || stem == "parts" ||
         (decoder && (name == "wanted" || name == "target" ||
                      name == "tokens" || name == "returned"));
}

static Result<void> readDims(JsonValue object, bool decoder,
                             std::vector<GraphDim> &into) {
  std::optional<JsonValue> dims = object.find("dims");
  if (!dims)
    return {};
  if (Result<void> kind = dims->expectObject(); !kind)
    return kind;
  for (JsonValue::Member member : dims->members()) {
    // Check the name.
    GraphDim dim{std::string(member.key), -1};
    bool good = !dim.name.empty() && dim.name.size() <= 63 &&
                !isdigit(static_cast<unsigned char>(dim.name[0]));
    for (unsigned char c : dim.name)
      good = good && (isalnum(c) || c == '_');
    if (!good)
      return member.value.error("bad name of a dim '" + dim.name +
                                "'; names are letters, digits and '_'");
    if (isReservedDim(dim.name, decoder))
      return member.value.error("dim name '" + dim.name + "' is reserved");

    // Read the max value.
    if (Result<void> kind = member.value.expectObject(); !kind)
      return kind;
    if (Result<void> keys = member.value.expectOnlyKeys({"max"}); !keys)
      return keys;
    if (std::optional<JsonValue> largest = member.value.find("max")) {
      TRANSOM_ASSIGN(int64_t number, largest->asInt(1, maxDim));
      dim.largest = number;
    }
    into.push_back(dim);
  }
  return {};
}

static Result<DType> readDType(JsonValue value) {
  TRANSOM_ASSIGN(std::string_view name, value.asString());
  const std::vector<std::string> known = {"f32", "bf16", "f16",
                                          "i64", "i32",  "bool"};
  for (const std::string &each : known)
    if (name == each)
      return *dtypeFromName(each);
  std::string text(name);
  return value.error(
      "unsupported dtype '" + text + "'; supported: " + joinNames(known) +
          suggest(text, known),
      dtypeFromName(text) ? Status::Unsupported : Status::Rejected);
}

static Result<GraphInput> readInput(JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  if (Result<void> keys = value.expectOnlyKeys(
          {"name", "dtype", "shape", "mask_of", "default"});
      !keys)
    return keys.takeError();

  // Read the required keys.
  Result<JsonValue> name = value.get("name"), dtype = value.get("dtype"),
                    shape = value.get("shape");
  for (Result<JsonValue> *each : {&name, &dtype, &shape})
    if (!*each)
      return each->takeError();
  TRANSOM_ASSIGN(std::string text, readName(*name, "an input"));
  TRANSOM_ASSIGN(DType type, readDType(*dtype));
  GraphInput input{text, type, *shape, {}, {}, value};

  // Read the input that it masks, and the default value.
  if (std::optional<JsonValue> mask = value.find("mask_of")) {
    TRANSOM_ASSIGN(std::string of, readName(*mask, "an input"));
    if (isFloat(type))
      return dtype->error("a mask is i64, i32 or bool, got '" +
                          std::string(dtypeName(type)) + "'");
    input.maskOf = of;
  }
  if (std::optional<JsonValue> fill = value.find("default")) {
    if (isFloat(input.dtype))
      return fill->error("only integer and bool inputs have a default");
    TRANSOM_ASSIGN(int64_t number,
                   fill->asInt(0, input.dtype == DType::Bool ? 1 : maxDim));
    input.defaultValue = number;
  }
  return input;
}

/// Reads `transom`, `name` and `weights`.
static Result<void> readHeader(JsonValue root, GraphFile &file) {
  TRANSOM_ASSIGN(JsonValue version, root.get("transom"));
  TRANSOM_ASSIGN(int64_t number, version.asInt());
  if (number != 1)
    return version.error("version " + std::to_string(number) +
                             " is not supported; supported: 1",
                         Status::Unsupported);
  if (std::optional<JsonValue> value = root.find("name")) {
    TRANSOM_ASSIGN(std::string text, readName(*value, "a graph"));
    file.name = text;
  }
  return forEach(root, "weights", [&](JsonValue each) {
    Result<std::string_view> name = each.asString();
    if (!name)
      return Result<void>(name.takeError());
    if (Result<void> plain = checkPlainFileName(*name, "a file of weights");
        !plain)
      return Result<void>(each.error(plain.error().message));
    file.weights.push_back(std::string(*name));
    return Result<void>();
  });
}

static Result<void> readBlocks(JsonValue root, GraphFile &file) {
  std::optional<JsonValue> blocks = root.find("blocks");
  if (!blocks)
    return {};
  if (Result<void> kind = blocks->expectObject(); !kind)
    return kind;
  for (JsonValue::Member member : blocks->members()) {
    TRANSOM_ASSIGN(GraphBody block, readBlock(member.value));
    file.blocks.emplace(std::string(member.key), std::move(block));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Reads `entry`, `inputs` and the body for a graph whose role and dims are
/// set.
static Result<void> readGraph(JsonValue object, const char *entry,
                              Graph &graph) {
  graph.entry = entry;
  if (std::optional<JsonValue> value = object.find("entry")) {
    TRANSOM_ASSIGN(std::string text, readName(*value, "an entry"));
    graph.entry = text;
    graph.entryAt = *value;
  }
  Result<void> inputs = forEach(object, "inputs", [&](JsonValue each) {
    Result<GraphInput> input = readInput(each);
    if (!input)
      return Result<void>(input.takeError());
    graph.inputs.push_back(*input);
    graph.body.inputs.push_back({input->name, each});
    return Result<void>();
  });
  if (!inputs)
    return inputs;
  if (graph.inputs.empty())
    return object.error("no inputs");
  return readBody(object, graph.body);
}

/// Reads one graph of an encoder-decoder. The decoder's dim is the step's
/// `rows`; all other dims belong to the encoder.
static Result<void> readHalf(JsonValue graphs, const std::vector<GraphDim> &all,
                             Graph &graph) {
  TRANSOM_ASSIGN(JsonValue object, graphs.get(graph.name));
  TRANSOM_TRY(object.expectObject());
  graph.pointer = object.pointer();
  TRANSOM_TRY(
      object.expectOnlyKeys({"entry", "inputs", "caches", "nodes", "outputs"}));
  const bool decoder = graph.role == GraphRole::Decoder;
  if (std::optional<JsonValue> caches = object.find("caches");
      caches && !decoder)
    return caches->error("graph '" + graph.name +
                         "' has caches, which a decoder alone may have");
  for (const GraphDim &dim : all)
    if ((dim.name == "rows") == decoder)
      graph.dims.push_back(dim);
  return readGraph(object, decoder ? "step" : "encode", graph);
}

static Result<void> readGraphs(JsonValue graphs, GraphFile &file) {
  TRANSOM_TRY(graphs.expectObject());
  for (JsonValue::Member member : graphs.members())
    if (member.key != "encoder" && member.key != "decoder")
      return member.value.error("graph '" + utf8::printable(member.key) +
                                    "' is not supported; supported: decoder, "
                                    "encoder",
                                Status::Unsupported);
  file.encoder.emplace();
  file.encoder->name = "encoder";
  file.encoder->role = GraphRole::Encoder;
  file.main.name = "decoder";
  file.main.role = GraphRole::Decoder;
  TRANSOM_TRY(readHalf(graphs, file.dims, *file.encoder));
  return readHalf(graphs, file.dims, file.main);
}

/// Reads the class names for the output `logits`.
static Result<void> readLabels(JsonValue root, GraphFile &file) {
  file.labelsAt = root.find("labels");
  return forEach(root, "labels", [&](JsonValue each) -> Result<void> {
    TRANSOM_ASSIGN(std::string_view label, each.asString());
    file.labels.emplace_back(label);
    return {};
  });
}

Result<GraphFile> transom::readGraphFile(const JsonDocument &document) {
  JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  GraphFile file;
  TRANSOM_TRY(readHeader(root, file));
  if (std::optional<JsonValue> graphs = root.find("graphs")) {
    TRANSOM_TRY(root.expectOnlyKeys(
        {"$schema", "transom", "name", "weights", "dims", "blocks", "graphs"}));
    TRANSOM_TRY(readDims(root, /*decoder=*/true, file.dims));
    TRANSOM_TRY(readBlocks(root, file));
    TRANSOM_TRY(readGraphs(*graphs, file));
    return file;
  }

  // A single graph; its keys are at the top level.
  TRANSOM_TRY(root.expectOnlyKeys({"$schema", "transom", "name", "entry",
                                   "weights", "dims", "inputs", "blocks",
                                   "caches", "nodes", "outputs", "labels"}));
  TRANSOM_TRY(readLabels(root, file));
  const bool decoder = hasCaches(root);
  TRANSOM_TRY(readDims(root, decoder, file.dims));
  TRANSOM_TRY(readBlocks(root, file));
  file.main.role = decoder ? GraphRole::Decoder : GraphRole::Run;
  file.main.dims = file.dims;
  TRANSOM_TRY(readGraph(root, decoder ? "step" : "run", file.main));
  return file;
}
