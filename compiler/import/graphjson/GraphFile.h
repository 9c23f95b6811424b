// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph.json as parsed: its keys checked, names resolved, nodes in an order
// in which each comes after what it reads. Nothing here knows what an op
// computes.
#pragma once
#include "runtime/base/DType.h"
#include "runtime/json/Json.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// A dimension that a call chooses.
struct GraphDim {
  std::string name;
  int64_t largest = -1; ///< -1 = no bound
};

/// An input of the entry.
struct GraphInput {
  std::string name;
  DType dtype = DType::F32;
  JsonValue shape; ///< checked when dims are known
  std::optional<std::string> maskOf;
  std::optional<int64_t> defaultValue;
  JsonValue at;
};

/// The name of a value: a node, input or parameter, and which of its results.
struct GraphEdge {
  std::string source;
  size_t result = 0;
  JsonValue at;
};

/// A node: an operation, or a block that is instantiated.
struct GraphNode {
  std::string name;
  std::string op;    ///< empty for a block
  std::string block; ///< empty for an operation
  std::vector<GraphEdge> inputs;
  std::optional<JsonValue> attrs;
  std::vector<std::string> outputNames; ///< other names of the results
  int64_t repeat = 0;                   ///< 0 = once, without a number
  std::string weights; ///< prefix of tensor names, `{i}` for the number
  JsonValue at;
};

/// A result of the entry or of a block.
struct GraphOutput {
  std::string name;
  GraphEdge edge;
};

/// A parameter of a block, or the name of an input.
struct GraphParameter {
  std::string name;
  JsonValue at;
};

/// The keys and values that one attention of a body keeps of each sequence.
struct GraphCache {
  std::string name;
  int64_t heads = 0, key = 0, value = 0; ///< key and value: numbers of a head
  int64_t window = 0;                    ///< 0 = all positions
  JsonValue at;
};

/// Nodes in an order that respects their edges, and what they give.
struct GraphBody {
  std::vector<GraphCache> caches;
  std::vector<GraphParameter> inputs;
  std::vector<GraphNode> nodes;
  std::vector<GraphOutput> outputs;
  std::vector<std::string> notes; ///< nodes that nothing reads
};

/// What a graph computes in a call.
enum class GraphRole {
  Run,     ///< results from inputs
  Decoder, ///< one step of several sequences
  Encoder  ///< the states that a decoder's `cross` attends to
};

/// The network of one entry.
struct Graph {
  std::string name;    ///< its key in `graphs`, empty without
  std::string pointer; ///< where its keys are: `/graphs/encoder`, or empty
  GraphRole role = GraphRole::Run;
  std::string entry;                ///< `run`, `step` or `encode` when absent
  std::optional<JsonValue> entryAt; ///< where its key is
  std::vector<GraphDim> dims;       ///< that its sizes may name
  std::vector<GraphInput> inputs;
  GraphBody body;
};

/// A whole file.
struct GraphFile {
  std::string name;
  std::vector<std::string> weights; ///< plain file names
  std::vector<GraphDim> dims;
  std::map<std::string, GraphBody> blocks;
  std::vector<std::string> labels; ///< class names of the output `logits`
  std::optional<JsonValue> labelsAt;
  std::optional<Graph> encoder; ///< of an encoder-decoder
  Graph main;                   ///< its decoder, or the one graph
};

/// Reads the document. Errors name file, line, column and JSON pointer:
/// `Rejected` for malformed or inconsistent graphs, `Unsupported` for keys
/// that are not supported.
Result<GraphFile> readGraphFile(const JsonDocument &document);

/// Checks that names are used once and edges lead somewhere, and puts the nodes
/// of a body in an order in which each comes after what it reads; refuses
/// cycles.
Result<void> orderBody(GraphBody &body);

/// The error of a name that is defined at two places.
Error usedTwice(const std::string &name, JsonValue first, JsonValue second);

/// The notes of all bodies, and a note for each block that no node names.
std::vector<std::string> getNotes(const GraphFile &file);

/// The largest value of each symbol; -1 if the file gives none.
std::vector<std::pair<std::string, int64_t>> getSymbols(const GraphFile &file);

/// `[A-Za-z_][A-Za-z0-9_.-]*`, at most 255 bytes; `what` says whose name.
Result<std::string> readName(JsonValue value, const std::string &what);

} // namespace transom
