// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json operations on single elements.
#include "compiler/import/graphjson/GraphOpGroups.h"

using namespace mlir;
using namespace transom;
using graph::isFloatValue;
using graph::Values;
using K = AttrKind;

static Values buildBinary(OpCall &call) {
  Emitter &emit = call.emit;
  Value a = call.inputs[0], b = call.inputs[1];
  StringRef name = call.op.name;
  if (name == "add")
    return {emit.add(a, b)};
  if (name == "sub")
    return {emit.make<attn::SubOp>(a, b)};
  if (name == "mul")
    return {emit.make<attn::MulOp>(a, b)};
  if (name == "div")
    return {emit.make<attn::DivOp>(a, b)};
  if (name == "and")
    return {emit.make<attn::AndOp>(a, b)};
  return {emit.make<attn::OrOp>(a, b)};
}

static Values buildScale(OpCall &call) {
  return {call.emit.scale(call.inputs[0], call.number("factor", 1),
                          call.number("offset", 0))};
}

/// The table and the dialect use the same function names.
static Values buildFunction(OpCall &call) {
  return {call.emit.activation(call.inputs[0], *parseActivation(call.op.name))};
}

static Values buildCast(OpCall &call) {
  std::optional<JsonValue> to = call.find("to");
  std::optional<DType> dtype;
  if (to->isString())
    dtype = dtypeFromName(*to->asString());
  if (!dtype ||
      (*dtype != DType::F32 && *dtype != DType::I64 && *dtype != DType::Bool))
    return {call.emit.fail(to->error("unsupported dtype of a cast; supported: "
                                     "f32, i64, bool",
                                     Status::Unsupported))};
  return {call.emit.cast(call.inputs[0], *dtype)};
}

static Values buildNot(OpCall &call) {
  return {call.emit.make<attn::NotOp>(call.inputs[0])};
}

static Values buildWhere(OpCall &call) {
  for (size_t i : {1, 2})
    if (!isFloatValue(call.inputs[i]))
      return {call.fail("op 'where' chooses between f32 values only",
                        Status::Unsupported)};
  return {call.emit.make<attn::WhereOp>(call.inputs[0], call.inputs[1],
                                        call.inputs[2])};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Returns a row for an elementwise function.
static GraphOp function(const char *name, const char *doc) {
  return {name, 1, 1, "x", "f", {}, doc, buildFunction};
}

static GraphOp binary(const char *name, const char *doc) {
  return {name, 2, 2, "a, b", "f", {}, doc, buildBinary};
}

static std::vector<GraphOp> arithmetic() {
  return {
      binary("add", "a + b, broadcast as in NumPy."),
      binary("sub", "a - b, broadcast as in NumPy."),
      binary("mul", "a * b, broadcast as in NumPy."),
      binary("div", "a / b, broadcast as in NumPy."),
      {"scale",
       1,
       1,
       "x",
       "f",
       {{"factor", K::Number, true, "what x is multiplied by"},
        {"offset", K::Number, false, "what is added then, 0 when absent"}},
       "factor * x + offset.",
       buildScale},
  };
}

/// Returns a row for each activation in the dialects.
static std::vector<GraphOp> activations() {
  std::vector<GraphOp> rows;
  for (const ActivationInfo &info : getActivations())
    rows.push_back(function(info.name, info.description));
  return rows;
}

static std::vector<GraphOp> typesAndBools() {
  return {
      {"cast",
       1,
       1,
       "x",
       "fib",
       {{"to", K::Dtype, true, "f32, i64 or bool"}},
       "Converts to another type; bool is x != 0.",
       buildCast},
      {"and", 2, 2, "a, b", "b", {}, "Both are true; broadcasts.", buildBinary},
      {"or",
       2,
       2,
       "a, b",
       "b",
       {},
       "One or both are true; broadcasts.",
       buildBinary},
      {"not", 1, 1, "x", "b", {}, "x is false.", buildNot},
      {"where",
       3,
       3,
       "condition, a, b",
       "fb",
       {},
       "a where the bool condition is true, else b; all broadcast.",
       buildWhere},
  };
}

std::vector<GraphOp> graph::getElementwiseOps() {
  std::vector<GraphOp> ops = arithmetic();
  llvm::append_range(ops, activations());
  llvm::append_range(ops, typesAndBools());
  return ops;
}
