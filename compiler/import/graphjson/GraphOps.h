// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of graph.json: one table of names, attributes and builders,
// from which the reader checks files and the schema and the reference are
// written.
#pragma once
#include "compiler/import/Emitter.h"
#include "compiler/import/graphjson/GraphFile.h"
#include <string>
#include <vector>

namespace transom {

/// What an attribute holds.
enum class AttrKind {
  Integer,
  Number,
  Flag,
  Tensor,   ///< name of a tensor of the files, after the block's prefix
  Integers, ///< array of integers
  Numbers,  ///< array of numbers
  Shape,    ///< array of sizes
  Size,     ///< an integer, or text such as `seq` or `2*seq+1`
  Dtype,
  Cache,    ///< name of a cache of the body
  Choice,   ///< one of `choices`
  Value,    ///< a number, or nested arrays of numbers
  MaskValue ///< a number or "-inf"
};

/// An attribute of an operation.
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
  const char *inputs;   ///< names of the operands, for the reference
  const char *elements; ///< letters of the types its operands may have: f, i, b
  std::vector<OpAttr> attrs;
  const char *doc;
  /// Makes the operation; empty after an error (which the emitter keeps).
  llvm::SmallVector<mlir::Value> (*build)(OpCall &);
};

/// The table, in the order of the reference.
const std::vector<GraphOp> &graphOps();
/// The row of that name, or null.
const GraphOp *findGraphOp(const std::string &name);
/// The end of an error about a name that is not a row: the nearest name, or
/// all.
std::string describeGraphOps(const std::string &name);

/// The declared dims and how large they can be.
class DimTable {
public:
  explicit DimTable(const std::vector<GraphDim> &dims);
  /// A size: an integer from 1, or text over the dims.
  Result<Polynomial> size(JsonValue value) const;
  Result<Dims> shape(JsonValue value) const;
  /// The smallest value (dims are at least 1), and the largest, where each dim
  /// has a bound that matters; nothing on overflow.
  std::optional<int64_t> smallest(const Polynomial &size) const;
  std::optional<int64_t> largest(const Polynomial &size) const;

private:
  std::optional<int64_t> bound(const Polynomial &size, bool upper) const;
  std::map<std::string, int64_t> dims; // largest, -1 = no bound
};

class GraphSource;

/// What the operations of a decoder's graph share.
struct StepState {
  mlir::Value ragged; ///< null outside a decoder
  /// What attentions with `cross` read; null without an encoder.
  GraphSource *source = nullptr;
  bool hasCache = false; ///< an attention has one
  /// Positions are below this, as far as tables say.
  std::optional<int64_t> context;

  /// A table has this many positions.
  void bound(int64_t positions) {
    context = std::min(context.value_or(positions), positions);
  }
};

/// The caches of one use of a body.
struct CacheScope {
  const std::vector<GraphCache> &caches;
  std::string place;          ///< begins the caches' symbols
  std::set<std::string> used; ///< by an attention

  /// The use of a cache of that name; an error at `at`.
  Result<const GraphCache *> take(const std::string &name, JsonValue at);
};

/// The context of a node: the prefix of its tensors, the caches of its body,
/// the step of its decoder.
struct NodeScope {
  std::string prefix;
  CacheScope &caches;
  StepState &step;
};

/// One use of an operation: its node, operands and attributes. Getters record
/// an error at the attribute and give a harmless value.
class OpCall {
public:
  OpCall(Emitter &emit, const DimTable &dims, const GraphOp &op,
         const GraphNode &node, const NodeScope &scope,
         llvm::SmallVector<mlir::Value> inputs)
      : emit(emit), dims(dims), op(op), node(node), prefix(scope.prefix),
        caches(scope.caches), step(scope.step), inputs(std::move(inputs)) {}

  /// Checks the number and element types of operands and the attributes' names.
  void check();

  std::optional<JsonValue> find(const char *attr) const;
  bool has(const char *attr) const { return find(attr).has_value(); }
  int64_t integer(const char *attr, int64_t absent, int64_t low, int64_t high);
  double number(const char *attr, double absent);
  /// A number or "-inf", which is also what absence means.
  double maskValue(const char *attr);
  bool flag(const char *attr);
  std::string choice(const char *attr, const std::string &absent);
  std::vector<int64_t> integers(const char *attr, int64_t low, int64_t high);
  std::vector<double> numbers(const char *attr);
  Dims shape(const char *attr);
  Polynomial size(const char *attr);
  /// The name of the tensor, with the prefix; empty when absent.
  std::string tensorName(const char *attr);
  /// The tensor as a weight; null when absent.
  mlir::Value tensor(const char *attr);

  /// Refuses attributes that the operation does not have.
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

/// Makes sure that no index can leave a table of `rows` rows: bounds the
/// inputs that indices come from, and checks positions against the dims'
/// bounds.
void boundIndices(OpCall &call, mlir::Value indices, int64_t rows);

/// The JSON schema (draft 2020-12) of the files, written from the table.
std::string graphJsonSchema();
/// The reference of the operations in Markdown, written from the table.
std::string graphOpsReference();

} // namespace transom
