// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json operations that gather table rows by index, and positions.
#include "compiler/import/graphjson/GraphOpGroups.h"

using namespace mlir;
using namespace transom;
using graph::isBoolValue;
using graph::isFloatValue;
using graph::Values;
using K = AttrKind;

static Values buildGather(OpCall &call) {
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
  const bool isStored =
      call.emit.getWeightExpr(table) || table.getDefiningOp<attn::ConstantOp>();
  if (isStored && shape.size() == 2)
    result =
        call.emit.make<attn::EmbeddingOp>(indices, call.emit.asWeight(table),
                                          call.emit.ops().getF64FloatAttr(1.0));
  else
    result = call.emit.make<attn::GatherOp>(table, indices);
  boundIndices(call, indices, *rows);
  return {result};
}

static Values buildEmbedding(OpCall &call) {
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

static Values buildPosition(OpCall &call) {
  bool ranks = call.choice("kind", "column") == "nonpad_rank";
  if (ranks && isBoolValue(call.inputs[0]))
    return {call.fail("kind 'nonpad_rank' needs i64 ids")};
  if (!ranks && call.has("pad"))
    return {call.fail("'pad' belongs to the kind 'nonpad_rank'")};
  return {positions(
      call, ranks ? attn::PositionKind::NonpadRank : attn::PositionKind::Column,
      call.integer("pad", 0, 0, INT32_MAX))};
}

static Values buildSinusoid(OpCall &call) {
  int64_t rows = call.integer("positions", 1, 1, 1 << 24);
  int64_t width = call.integer("width", 2, 2, 1 << 20);
  bool halves = call.flag("halves");
  if (!call.emit.failed() && width % 2)
    return {call.fail("'width' " + std::to_string(width) + " is odd")};
  Value table = call.emit.weight(
      "sinusoid." + std::to_string(rows) + "x" + std::to_string(width) +
          (halves ? ".halves" : ""),
      WeightExpr::sinusoid(
          rows, width, halves ? SinusoidOrder::Halves : SinusoidOrder::InTurn));
  if (call.inputs.empty() || call.emit.failed())
    return {table};
  Value columns = positions(call, attn::PositionKind::Column, 0);
  if (columns)
    boundIndices(call, columns, rows);
  return {call.emit.make<attn::EmbeddingOp>(
      columns, table, call.emit.ops().getF64FloatAttr(1.0))};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getLookupOps() {
  return {
      {"gather",
       2,
       2,
       "table, indices",
       "fi",
       {},
       "Rows of the table's first dim. Indices are an i64 input (checked "
       "before "
       "each run) or positions.",
       buildGather},
      {"embedding",
       1,
       1,
       "ids",
       "i",
       {{"table", K::Tensor, true, "tensor [rows, width]"},
        {"scale", K::Number, false, "what rows are multiplied by"}},
       "Rows of a weight by index.",
       buildEmbedding},
      {"position",
       1,
       1,
       "ids",
       "ib",
       {{"kind",
         K::Choice,
         false,
         "column (default), or nonpad_rank: pad + the rank among the ids that "
         "are not pad",
         {"column", "nonpad_rank"}},
        {"pad", K::Integer, false, "the padding id of nonpad_rank"}},
       "Positions of ids [batch, seq]; in a decoder of its tokens [rows], each "
       "in its sequence.",
       buildPosition},
      {"sinusoid",
       0,
       1,
       "ids",
       "ib",
       {{"width", K::Integer, true, "columns"},
        {"positions", K::Integer, true, "rows: the longest sequence"},
        {"halves", K::Flag, false,
         "all sines before all cosines, instead of in turn"}},
       "The table of sine and cosine positions of Attention Is All You Need "
       "(3.5); with ids [batch, seq], its rows at their columns.",
       buildSinusoid},
  };
}
