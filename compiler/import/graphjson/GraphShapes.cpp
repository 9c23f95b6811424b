// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json operations that move elements: transposes, slices, concatenation.
#include "compiler/import/graphjson/GraphOpGroups.h"

using namespace mlir;
using namespace transom;
using graph::Values;
using K = AttrKind;

/// Returns the attribute `axis` as a dimension index for a tensor with this
/// rank.
static int64_t getAxis(OpCall &call, int64_t rank) {
  if (rank == 0) {
    call.fail("op '" + std::string(call.op.name) + "' of a tensor of rank 0");
    return 0;
  }
  int64_t axis = call.integer("axis", 0, -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

static Values buildTranspose(OpCall &call) {
  return {
      call.emit.transpose(call.inputs[0], call.integers("permutation", 0, 7))};
}

static Values buildReshape(OpCall &call) {
  Dims shape = call.shape("shape");
  if (call.emit.failed())
    return {};
  return {call.emit.reshape(call.inputs[0], shape)};
}

static Values buildConcat(OpCall &call) {
  int64_t axis = getAxis(call, call.emit.getShape(call.inputs[0]).size());
  return {
      call.emit.make<attn::ConcatOp>(ValueRange(call.inputs), uint64_t(axis))};
}

/// Creates a slice whose end is within the axis for all dim sizes.
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

static Values buildSlice(OpCall &call) {
  int64_t axis = getAxis(call, call.emit.getShape(call.inputs[0]).size());
  int64_t start = call.integer("start", 0, 0, INT32_MAX);
  Polynomial size = call.size("size");
  if (call.emit.failed())
    return {};
  return {checkedSlice(call, axis, start, size)};
}

static Values buildSplit(OpCall &call) {
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

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getShapeOps() {
  return {
      {"transpose",
       1,
       1,
       "x",
       "fb",
       {{"permutation", K::Integers, true, "dim i of the result is this of x"}},
       "Permutes dims.",
       buildTranspose},
      {"reshape",
       1,
       1,
       "x",
       "fib",
       {{"shape", K::Shape, true, "integers, dims, or text such as batch*seq"}},
       "The same elements in row-major order.",
       buildReshape},
      {"concat",
       1,
       SIZE_MAX,
       "x, ...",
       "f",
       {{"axis", K::Integer, true, "negative counts from the end"}},
       "Joins tensors along an axis.",
       buildConcat},
      {"slice",
       1,
       1,
       "x",
       "fb",
       {{"axis", K::Integer, true, "negative counts from the end"},
        {"start", K::Integer, false, "0 when absent"},
        {"size", K::Size, true, "how many"}},
       "A range along an axis.",
       buildSlice},
      {"split",
       1,
       1,
       "x",
       "f",
       {{"axis", K::Integer, true, "negative counts from the end"},
        {"parts", K::Integer, true, "how many results"}},
       "Equal parts along an axis: results 0, 1, ...",
       buildSplit},
  };
}
