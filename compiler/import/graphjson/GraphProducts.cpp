// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json matrix multiplications.
#include "compiler/import/graphjson/GraphOpGroups.h"

using namespace mlir;
using namespace transom;
using graph::Values;
using K = AttrKind;

/// Returns the weight `expr`, transposed, under the symbol with a `^T`.
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

/// Returns whether a value is known before a call.
static bool isStored(OpCall &call, Value value) {
  return call.emit.getWeightExpr(value) ||
         value.getDefiningOp<attn::ConstantOp>();
}

/// A matmul with a rank 2 weight becomes linear in either orientation.
static Values buildMatmul(OpCall &call) {
  bool a = call.flag("transpose_a"), b = call.flag("transpose_b");
  Value right = call.inputs[1];
  if (!a && isStored(call, right) && !isStored(call, call.inputs[0]) &&
      call.emit.getShape(right).size() == 2) {
    Value weight = call.emit.asWeight(right);
    return {call.emit.linear(
        call.inputs[0], b ? weight : transposedWeight(call, weight), Value())};
  }
  return {call.emit.matmul(call.inputs[0], right, a, b)};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getProductOps() {
  return {
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
