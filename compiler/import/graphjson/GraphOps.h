// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph.json operations: a single table with names, attributes and
// builders, used to check files and to generate the schema and the reference.
#pragma once
#include "compiler/import/Emitter.h"
#include "compiler/import/graphjson/GraphFile.h"
#include <string>
#include <vector>

namespace transom {

/// Attribute value kinds.
enum class AttrKind {
  Integer,
  Number,
  Flag,
  Tensor,   ///< name of a file tensor, without the block's prefix
  Integers, ///< array of integers
  Numbers,  ///< array of numbers
  Shape,    ///< array of sizes
  Size,     ///< an integer, or a string such as `seq` or `2*seq+1`
  Dtype,
  Cache,    ///< name of a cache in the body
  Choice,   ///< one of `choices`
  Value,    ///< a number, or nested arrays of numbers
  MaskValue ///< a number or "-inf"
};

/// An operation attribute.
struct OpAttr {
  const char *name;
  AttrKind kind;
  bool required;
  const char *doc;
  std::vector<const char *> choices = {};
};

class OpCall;

/// An operation.
struct GraphOp {
  const char *name;
  size_t minInputs, maxInputs;
  const char *inputs;   ///< operand names, for the reference
  const char *elements; ///< supported operand element types: f, i, b
  std::vector<OpAttr> attrs;
  const char *doc;
  /// Creates the operation; empty after an error (recorded in the emitter).
  llvm::SmallVector<mlir::Value> (*build)(OpCall &);
};

/// Returns the table, in reference order.
const std::vector<GraphOp> &graphOps();
/// Returns the row with this name, or null.
const GraphOp *findGraphOp(const std::string &name);
/// Returns the suffix of an error for an unknown name: the nearest name, or
/// all.
std::string describeGraphOps(const std::string &name);

/// The declared dims and their max values.
class DimTable {
public:
  explicit DimTable(const std::vector<GraphDim> &dims);
  /// Reads a size: an integer >= 1, or an expression over the dims.
  Result<Polynomial> size(JsonValue value) const;
  Result<Dims> shape(JsonValue value) const;
  /// The min value (dims are at least 1) and the max value, if each relevant
  /// dim has a bound; nullopt on overflow.
  std::optional<int64_t> smallest(const Polynomial &size) const;
  std::optional<int64_t> largest(const Polynomial &size) const;

private:
  std::optional<int64_t> bound(const Polynomial &size, bool upper) const;
  std::map<std::string, int64_t> dims; // largest, -1 = no bound
};

class GraphSource;

/// State shared by a decoder graph's operations.
struct StepState {
  mlir::Value ragged; ///< null outside a decoder
  /// Inputs for attentions with `cross`; null without an encoder.
  GraphSource *source = nullptr;
  bool hasCache = false; ///< an attention has one
  /// Max position count, as implied by tables.
  std::optional<int64_t> context;

  /// A table with this many positions limits the context.
  void bound(int64_t positions) {
    context = std::min(context.value_or(positions), positions);
  }
};

/// Caches for one body instance.
struct CacheScope {
  const std::vector<GraphCache> &caches;
  std::string place;          ///< prefix for the cache symbols
  std::set<std::string> used; ///< caches already used by an attention

  /// Returns the cache with this name and marks it as used; errors are located
  /// at `at`.
  Result<const GraphCache *> take(const std::string &name, JsonValue at);
};

/// Node context: tensor prefix, caches in its body, the decoder's step.
struct NodeScope {
  std::string prefix;
  CacheScope &caches;
  StepState &step;
};

/// One use of an operation: its node, operands and attributes. Getters record
/// an error at the attribute and return a harmless value.
class OpCall {
public:
  OpCall(Emitter &emit, const DimTable &dims, const GraphOp &op,
         const GraphNode &node, const NodeScope &scope,
         llvm::SmallVector<mlir::Value> inputs)
      : emit(emit), dims(dims), op(op), node(node), prefix(scope.prefix),
        caches(scope.caches), step(scope.step), inputs(std::move(inputs)) {}

  /// Checks the operand count, element types and attribute names.
  void check();

  std::optional<JsonValue> find(const char *attr) const;
  bool has(const char *attr) const { return find(attr).has_value(); }
  int64_t integer(const char *attr, int64_t absent, int64_t low, int64_t high);
  double number(const char *attr, double absent);
  /// Returns a number or "-inf", which is also the default.
  double maskValue(const char *attr);
  bool flag(const char *attr);
  std::string choice(const char *attr, const std::string &absent);
  std::vector<int64_t> integers(const char *attr, int64_t low, int64_t high);
  std::vector<double> numbers(const char *attr);
  Dims shape(const char *attr);
  Polynomial size(const char *attr);
  /// Returns the tensor name with the prefix; empty if absent.
  std::string tensorName(const char *attr);
  /// Returns the tensor as a weight; null if absent.
  mlir::Value tensor(const char *attr);

  /// Rejects attributes that the operation does not have.
  void checkAttributeNames();
  mlir::Value fail(const std::string &text, Status status = Status::Rejected);

  Emitter &emit;
  const DimTable &dims;
  const GraphOp &op;
  const GraphNode &node;
  std::string prefix;
  CacheScope &caches;
  StepState &step;
  llvm::SmallVector<mlir::Value> inputs;
};

/// Ensures that indices are within a table with `rows` rows: bounds the inputs
/// that indices come from, and checks positions against the dims' bounds.
void boundIndices(OpCall &call, mlir::Value indices, int64_t rows);

/// Returns the JSON schema for the files (draft 2020-12), generated from the
/// table.
std::string graphJsonSchema();
/// Returns the operation reference in Markdown, generated from the table.
std::string graphOpsReference();

} // namespace transom
