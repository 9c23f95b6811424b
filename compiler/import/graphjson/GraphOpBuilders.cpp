// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each kind of operation of graph.json. Shapes are checked by
// the dialect's own rules as operations are made.
#include "compiler/import/graphjson/GraphOpBuilders.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace transom;
using graph::isBoolValue;
using graph::isFloatValue;
using graph::maxConstant;
using graph::Values;

bool graph::isFloatValue(Value value) {
  return isa<FloatType>(cast<TensorType>(value.getType()).getElementType());
}
bool graph::isBoolValue(Value value) {
  return cast<TensorType>(value.getType()).getElementType().isInteger(1);
}

/// The attribute `axis` as a dim of a tensor of that rank.
static int64_t getAxis(OpCall &call, int64_t rank) {
  if (rank == 0) {
    call.fail("op '" + std::string(call.op.name) + "' of a tensor of rank 0");
    return 0;
  }
  int64_t axis = call.integer("axis", 0, -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

//===----------------------------------------------------------------------===//
// Weights and products
//===----------------------------------------------------------------------===//

Values graph::buildWeight(OpCall &call) { return {call.tensor("tensor")}; }

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

Values graph::buildConstant(OpCall &call) {
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

Values graph::buildLinear(OpCall &call) {
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
Values graph::buildMatmul(OpCall &call) {
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
// Elementwise
//===----------------------------------------------------------------------===//

Values graph::buildBinary(OpCall &call) {
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

Values graph::buildScale(OpCall &call) {
  return {call.emit.scale(call.inputs[0], call.number("factor", 1),
                          call.number("offset", 0))};
}

/// The table's names of functions are the dialect's.
Values graph::buildFunction(OpCall &call) {
  return {call.emit.activation(call.inputs[0], *parseActivation(call.op.name))};
}

Values graph::buildCast(OpCall &call) {
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

Values graph::buildNot(OpCall &call) {
  return {call.emit.make<attn::NotOp>(call.inputs[0])};
}

Values graph::buildWhere(OpCall &call) {
  for (size_t i : {1, 2})
    if (!isFloatValue(call.inputs[i]))
      return {call.fail("op 'where' chooses between f32 values only",
                        Status::Unsupported)};
  return {call.emit.make<attn::WhereOp>(call.inputs[0], call.inputs[1],
                                        call.inputs[2])};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Values graph::buildTranspose(OpCall &call) {
  return {
      call.emit.transpose(call.inputs[0], call.integers("permutation", 0, 7))};
}

Values graph::buildReshape(OpCall &call) {
  Dims shape = call.shape("shape");
  if (call.emit.failed())
    return {};
  return {call.emit.reshape(call.inputs[0], shape)};
}

Values graph::buildConcat(OpCall &call) {
  int64_t axis = getAxis(call, call.emit.getShape(call.inputs[0]).size());
  return {
      call.emit.make<attn::ConcatOp>(ValueRange(call.inputs), uint64_t(axis))};
}

/// A slice whose end is within the axis for all sizes of the dims.
static Value checkedSlice(OpCall &call, int64_t axis, int64_t start,
                          const Polynomial &size) {
  Polynomial length = call.emit.getShape(call.inputs[0])[axis];
  std::optional<int64_t> rest =
      call.dims.smallest(length - size - Polynomial(start));
  if (!rest || *rest < 0)
    return call.fail("slice of '" + size.str() + "' from " +
                     std::to_string(start) + " can leave the axis of size '" +
                     length.str() + "'");
  return call.emit.make<attn::SliceOp>(
      call.inputs[0], uint64_t(axis), uint64_t(start),
      attn::SizeAttr::get(call.emit.ops().getContext(), size));
}

Values graph::buildSlice(OpCall &call) {
  int64_t axis = getAxis(call, call.emit.getShape(call.inputs[0]).size());
  int64_t start = call.integer("start", 0, 0, INT32_MAX);
  Polynomial size = call.size("size");
  if (call.emit.failed())
    return {};
  return {checkedSlice(call, axis, start, size)};
}

Values graph::buildSplit(OpCall &call) {
  Dims shape = call.emit.getShape(call.inputs[0]);
  int64_t axis = getAxis(call, shape.size());
  int64_t parts = call.integer("parts", 1, 1, 4096);
  if (call.emit.failed())
    return {};
  std::optional<int64_t> length = shape[axis].constant();
  if (!length || *length % parts)
    return {call.fail("op 'split' needs an axis of a fixed size that " +
                      std::to_string(parts) + " divides, got '" +
                      shape[axis].str() + "'")};
  Values results;
  for (int64_t i = 0; i < parts; ++i)
    results.push_back(checkedSlice(call, axis, i * (*length / parts),
                                   Polynomial(*length / parts)));
  return results;
}

Values graph::buildGather(OpCall &call) {
  Value table = call.inputs[0], indices = call.inputs[1];
  if (!isFloatValue(table))
    return {
        call.fail("op 'gather' reads f32 tables only", Status::Unsupported)};
  Dims shape = call.emit.getShape(table);
  std::optional<int64_t> rows =
      shape.empty() ? std::nullopt : shape[0].constant();
  if (!rows)
    return {call.fail("op 'gather' of a table whose rows are not fixed",
                      Status::Unsupported)};
  Value result;
  if (call.emit.getWeightExpr(table) && shape.size() == 2)
    result = call.emit.make<attn::EmbeddingOp>(
        indices, table, call.emit.ops().getF64FloatAttr(1.0));
  else
    result = call.emit.make<attn::GatherOp>(table, indices);
  boundIndices(call, indices, *rows);
  return {result};
}

Values graph::buildEmbedding(OpCall &call) {
  Value table = call.tensor("table");
  Value result = call.emit.make<attn::EmbeddingOp>(
      call.inputs[0], table,
      call.emit.ops().getF64FloatAttr(call.number("scale", 1)));
  if (result)
    boundIndices(call, call.inputs[0],
                 *call.emit.getShape(table)[0].constant());
  return {result};
}

static Value positions(OpCall &call, attn::PositionKind kind, int64_t pad) {
  Value ids = call.inputs[0];
  if (isBoolValue(ids))
    ids = call.emit.cast(ids, DType::I64);
  return call.emit.make<attn::PositionOp>(ids, call.step.ragged, kind,
                                          uint64_t(pad));
}

Values graph::buildPosition(OpCall &call) {
  bool ranks = call.choice("kind", "column") == "nonpad_rank";
  if (ranks && isBoolValue(call.inputs[0]))
    return {call.fail("kind 'nonpad_rank' needs i64 ids")};
  if (!ranks && call.has("pad"))
    return {call.fail("'pad' belongs to the kind 'nonpad_rank'")};
  return {positions(
      call, ranks ? attn::PositionKind::NonpadRank : attn::PositionKind::Column,
      call.integer("pad", 0, 0, INT32_MAX))};
}

Values graph::buildSinusoid(OpCall &call) {
  int64_t rows = call.integer("positions", 1, 1, 1 << 24);
  int64_t width = call.integer("width", 2, 2, 1 << 20);
  bool halves = call.flag("halves");
  if (!call.emit.failed() && width % 2)
    return {call.fail("'width' " + std::to_string(width) + " is odd")};
  Value table =
      call.emit.weight("sinusoid." + std::to_string(rows) + "x" +
                           std::to_string(width) + (halves ? ".halves" : ""),
                       WeightExpr::sinusoid(rows, width, halves));
  if (call.inputs.empty() || call.emit.failed())
    return {table};
  Value columns = positions(call, attn::PositionKind::Column, 0);
  if (columns)
    boundIndices(call, columns, rows);
  return {call.emit.make<attn::EmbeddingOp>(
      columns, table, call.emit.ops().getF64FloatAttr(1.0))};
}

//===----------------------------------------------------------------------===//
// Norms and attention
//===----------------------------------------------------------------------===//

Values graph::buildSoftmax(OpCall &call) {
  return {call.emit.softmax(call.inputs[0])};
}

Values graph::buildMask(OpCall &call) {
  Value scores = call.inputs[0], mask = call.inputs[1];
  if (isBoolValue(mask))
    return {call.emit.mask(scores, mask, call.maskValue("value"))};
  if (call.has("value"))
    return {call.fail("'value' belongs to a bool mask; a float mask is added")};
  Value sum = call.emit.add(scores, mask);
  if (sum && call.emit.getShape(sum) != call.emit.getShape(scores))
    return {call.fail("the mask does not broadcast to the scores")};
  return {sum};
}

Values graph::buildNorm(OpCall &call) {
  Value gamma = call.tensor("gamma");
  double eps = call.number("eps", 1e-5);
  if (eps < 0)
    return {call.fail("'eps' is negative")};
  if (StringRef(call.op.name) == "layer_norm")
    return {
        call.emit.layerNorm(call.inputs[0], gamma, call.tensor("beta"), eps)};
  return {call.emit.make<attn::RmsNormOp>(
      call.inputs[0], gamma, call.emit.ops().getF64FloatAttr(eps))};
}

Values graph::buildPool(OpCall &call) {
  std::string kind = call.choice("kind", "first");
  Value mask = call.inputs.size() == 2 ? call.inputs[1] : Value();
  if (!isFloatValue(call.inputs[0]) || (mask && !isBoolValue(mask)))
    return {call.fail("op 'pool' expects f32 rows and a bool mask")};
  return {call.emit.make<attn::PoolOp>(call.inputs[0], mask, Value(),
                                       *attn::symbolizePoolKind(kind),
                                       attn::SizeAttr())};
}
