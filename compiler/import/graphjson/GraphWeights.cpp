// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json weights and constants.
#include "compiler/import/Triangles.h"
#include "compiler/import/graphjson/GraphOpGroups.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace transom;
using graph::maxConstant;
using graph::Values;
using K = AttrKind;

/// Returns a small bool tensor as an f32 constant with 0 and 1; larger tensors
/// are an error (`Unsupported`).
static Value readBools(OpCall &call, const SafetensorsTensor &tensor,
                       JsonValue at) {
  const std::optional<int64_t> count = elementCount(tensor.shape);
  if (!count || *count == 0 || *count > int64_t(maxConstant))
    return call.emit.fail(
        at.error("tensor '" + tensor.name + "' of bools has shape " +
                     shapeText(tensor.shape) + "; supported: up to " +
                     std::to_string(maxConstant) + " elements, and triangles",
                 Status::Unsupported));
  std::vector<float> numbers(static_cast<size_t>(*count));
  const std::vector<int64_t> offsets(tensor.shape.size(), 0);
  Result<void> read = call.emit.getFiles().readAsF32(
      tensor.name, offsets, tensor.shape, numbers.data());
  if (!read)
    return call.emit.fail(read.takeError());
  return call.emit.constant(
      tensor.shape, std::vector<double>(numbers.begin(), numbers.end()));
}

/// Returns a weight. Matrix data is compared with a triangle, since passes that
/// recognize a causal mask do not read data.
static Values buildWeight(OpCall &call) {
  const std::string name = call.tensorName("tensor");
  const SafetensorsTensor *tensor = call.emit.getFiles().find(name);
  if (call.emit.failed() || !tensor)
    return {call.tensor("tensor")};
  Result<std::optional<WeightExpr>> triangle =
      findTriangle(call.emit.getFiles(), *tensor);
  if (!triangle)
    return {call.emit.fail(triangle.takeError())};
  const bool isBool = tensor->dtype == DType::Bool;
  if (!*triangle && !isBool)
    return {call.tensor("tensor")};
  call.emit.markUsed(name);
  Value value = *triangle ? call.emit.weight(name, **triangle)
                          : readBools(call, *tensor, *call.find("tensor"));
  return {isBool ? call.emit.cast(value, DType::Bool) : value};
}

/// Reads a constant's element; "-inf" is minus infinity, as in masks.
static Result<double> readNumber(JsonValue value) {
  if (value.isString() && *value.asString() == "-inf")
    return -std::numeric_limits<double>::infinity();
  TRANSOM_ASSIGN(double number, value.asDouble());
  if (number == -std::numeric_limits<double>::infinity())
    return number;
  if (!std::isfinite(number) || std::fabs(number) > FLT_MAX)
    return value.error("a number beyond f32");
  return number;
}

/// Appends the elements in nested arrays; `shape` is set by the first elements
/// and checked for the others.
static Result<void> flatten(JsonValue value, size_t depth,
                            std::vector<int64_t> &shape,
                            std::vector<double> &data) {
  if (!value.isArray()) {
    if (depth != shape.size())
      return value.error("arrays of different depth");
    TRANSOM_ASSIGN(double number, readNumber(value));
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
  return {call.emit.constant(shape, data)};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getWeightOps() {
  return {
      {"weight",
       0,
       0,
       "",
       "",
       {{"tensor", K::Tensor, true, "the tensor's name in the weights files"}},
       "A tensor of the weights files; a BOOL tensor gives bools.",
       buildWeight},
      {"constant",
       0,
       0,
       "",
       "",
       {{"value", K::Value, true,
         "a number or \"-inf\", or nested arrays of them"}},
       "A small f32 tensor; a number has the shape [1].",
       buildConstant},
  };
}
