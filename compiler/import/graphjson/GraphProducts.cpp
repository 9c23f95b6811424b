// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights and products of graph.json.
#include "compiler/import/graphjson/GraphOpGroups.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace transom;
using graph::maxConstant;
using graph::Values;
using K = AttrKind;

static Values buildWeight(OpCall &call) { return {call.tensor("tensor")}; }

/// Appends the numbers of nested arrays; `shape` is found on the way down the
/// first elements and checked for the others.
static Result<void> flatten(JsonValue value, size_t depth,
                            std::vector<int64_t> &shape,
                            std::vector<double> &data) {
  if (!value.isArray()) {
    if (depth != shape.size())
      return value.error("arrays of different depth");
    TRANSOM_ASSIGN(double number, value.asDouble());
    if (!std::isfinite(number) || std::fabs(number) > FLT_MAX)
      return value.error("a number beyond f32");
    data.push_back(number);
    return {};
  }
  if (data.empty() && depth == shape.size())
    shape.push_back(value.size());
  if (depth >= shape.size() || shape[depth] != int64_t(value.size()))
    return value.error("arrays of different length or depth");
  if (value.size() == 0 || shape.size() > 8)
    return value.error("an empty array, or more than 8 levels");
  if (data.size() + value.size() > maxConstant)
    return value.error("more than " + std::to_string(maxConstant) +
                       " elements; use a tensor of the weights files");
  for (JsonValue each : value.elements())
    if (Result<void> done = flatten(each, depth + 1, shape, data); !done)
      return done;
  return {};
}

static Values buildConstant(OpCall &call) {
  std::vector<int64_t> shape;
  std::vector<double> data;
  Result<void> read = flatten(*call.find("value"), 0, shape, data);
  if (!read)
    return {call.emit.fail(read.takeError())};
  if (shape.empty())
    shape.push_back(1);
  return {call.emit.weight(call.prefix + call.node.name,
                           WeightExpr::values(shape, data))};
}

/// The weight that `expr` transposed makes, under the symbol with a `^T`.
static Value transposedWeight(OpCall &call, Value weight) {
  auto get = weight.getDefiningOp<attn::GetWeightOp>();
  std::optional<WeightExpr> expr = call.emit.getWeightExpr(weight);
  Value turned = call.emit.weight(get.getWeight().str() + "^T",
                                  WeightExpr::transpose(*expr, {1, 0}));
  return turned;
}

static Values buildLinear(OpCall &call) {
  Value weight = call.tensor("weight");
  if (call.emit.failed())
    return {};
  if (call.flag("transposed")) {
    if (call.emit.getShape(weight).size() != 2)
      return {call.fail("'transposed' needs a weight of rank 2")};
    weight = transposedWeight(call, weight);
  }
  return {call.emit.linear(call.inputs[0], weight, call.tensor("bias"))};
}

/// A product with a weight of rank 2 is linear, whichever way it is written.
static Values buildMatmul(OpCall &call) {
  bool a = call.flag("transpose_a"), b = call.flag("transpose_b");
  Value right = call.inputs[1];
  if (!a && call.emit.getWeightExpr(right) &&
      !call.emit.getWeightExpr(call.inputs[0]) &&
      call.emit.getShape(right).size() == 2)
    return {call.emit.linear(
        call.inputs[0], b ? right : transposedWeight(call, right), Value())};
  return {call.emit.matmul(call.inputs[0], right, a, b)};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getProductOps() {
  return {
      {"weight",
       0,
       0,
       "",
       "",
       {{"tensor", K::Tensor, true, "the tensor's name in the weights files"}},
       "A tensor of the weights files.",
       buildWeight},
      {"constant",
       0,
       0,
       "",
       "",
       {{"value", K::Value, true, "a number, or nested arrays of numbers"}},
       "A small f32 tensor; a number has the shape [1].",
       buildConstant},
      {"linear",
       1,
       1,
       "x",
       "f",
       {{"weight", K::Tensor, true, "tensor [out, in]"},
        {"bias", K::Tensor, false, "tensor [out]"},
        {"transposed", K::Flag, false, "the weight is [in, out] instead"}},
       "x [..., in] times a weight, plus a bias, to [..., out].",
       buildLinear},
      {"matmul",
       2,
       2,
       "a, b",
       "f",
       {{"transpose_a", K::Flag, false, "exchange the last two dims of a"},
        {"transpose_b", K::Flag, false, "exchange the last two dims of b"}},
       "a [..., m, k] times b [..., k, n]; leading dims broadcast.",
       buildMatmul},
  };
}
