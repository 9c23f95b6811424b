// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parsed graph.json: keys are checked, names resolved, and nodes ordered so
// that each follows its inputs. Nothing here depends on the semantics of ops.
#pragma once
#include "runtime/base/DType.h"
#include "runtime/json/Json.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// A dimension whose size is set for each call.
struct GraphDim {
  std::string name;
  int64_t largest = -1; ///< -1 = no bound
};

/// An entry input.
struct GraphInput {
  std::string name;
  DType dtype = DType::F32;
  JsonValue shape; ///< checked when dims are known
  std::optional<std::string> maskOf;
  std::optional<int64_t> defaultValue;
  JsonValue at;
};

/// A value name (node, input or parameter) and a result index.
struct GraphEdge {
  std::string source;
  size_t result = 0;
  JsonValue at;
};

/// A node: an operation or a block instance.
struct GraphNode {
  std::string name;
  std::string op;    ///< empty for a block
  std::string block; ///< empty for an operation
  std::vector<GraphEdge> inputs;
  std::optional<JsonValue> attrs;
  std::vector<std::string> outputNames; ///< other result names
  int64_t repeat = 0;                   ///< 0 = once, without an index
  std::string weights; ///< tensor name prefix, `{i}` is the index
  JsonValue at;
};

/// A result of the entry or a block.
struct GraphOutput {
  std::string name;
  GraphEdge edge;
};

/// A block parameter, or an input name.
struct GraphParameter {
  std::string name;
  JsonValue at;
};

/// Keys and values that one attention in a body stores for each sequence.
struct GraphCache {
  std::string name;
  int64_t heads = 0, key = 0, value = 0; ///< key and value: head size
  int64_t window = 0;                    ///< 0 = all positions
  JsonValue at;
};

/// Nodes in an order that respects their edges, and the results.
struct GraphBody {
  std::vector<GraphCache> caches;
  std::vector<GraphParameter> inputs;
  std::vector<GraphNode> nodes;
  std::vector<GraphOutput> outputs;
  std::vector<std::string> notes; ///< nodes without users
};

/// Role of a graph in a call.
enum class GraphRole {
  Run,     ///< results from inputs
  Decoder, ///< one step for several sequences
  Encoder  ///< the states that a decoder's `cross` attentions read
};

/// The network for one entry.
struct Graph {
  std::string name;    ///< its key in `graphs`, empty without
  std::string pointer; ///< to its keys: `/graphs/encoder`, or empty
  GraphRole role = GraphRole::Run;
  std::string entry;                ///< `run`, `step` or `encode` when absent
  std::optional<JsonValue> entryAt; ///< location of the key
  std::vector<GraphDim> dims;       ///< used in its sizes
  std::vector<GraphInput> inputs;
  GraphBody body;
};

/// A complete file.
struct GraphFile {
  std::string name;
  std::vector<std::string> weights; ///< plain file names
  std::vector<GraphDim> dims;
  std::map<std::string, GraphBody> blocks;
  std::vector<std::string> labels; ///< class names for the output `logits`
  std::optional<JsonValue> labelsAt;
  std::optional<Graph> encoder; ///< the encoder of an encoder-decoder
  Graph main;                   ///< its decoder, or the one graph
};

/// Reads the document. Errors contain file, line, column and JSON pointer:
/// `Rejected` for malformed or inconsistent graphs, `Unsupported` for
/// unsupported keys.
Result<GraphFile> readGraphFile(const JsonDocument &document);

/// Checks that names are unique and edges have a source, and sorts a body's
/// nodes so that each follows its inputs; rejects cycles.
Result<void> orderBody(GraphBody &body);

/// Returns the error for a name with two definitions.
Error usedTwice(const std::string &name, JsonValue first, JsonValue second);

/// Returns the notes from all bodies, and a note for each unused block.
std::vector<std::string> getNotes(const GraphFile &file);

/// Returns each symbol's max value; -1 if the file specifies none.
std::vector<std::pair<std::string, int64_t>> getSymbols(const GraphFile &file);

/// Reads `[A-Za-z_][A-Za-z0-9_.-]*`, at most 255 bytes; `what` describes the
/// named object in errors.
Result<std::string> readName(JsonValue value, const std::string &what);

} // namespace transom
