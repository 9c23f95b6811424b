// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json softmax, masks and norms.
#include "compiler/import/graphjson/GraphOpGroups.h"

using namespace mlir;
using namespace transom;
using graph::isBoolValue;
using graph::Values;
using K = AttrKind;

static Values buildSoftmax(OpCall &call) {
  return {call.emit.softmax(call.inputs[0])};
}

static Values buildMask(OpCall &call) {
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

static Values buildNorm(OpCall &call) {
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

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getNormOps() {
  return {
      {"softmax",
       1,
       1,
       "x",
       "f",
       {},
       "Over the last dim; a row of minus infinities gives zeros.",
       buildSoftmax},
      {"mask",
       2,
       2,
       "scores, mask",
       "fb",
       {{"value", K::MaskValue, false,
         "what masked scores become, -inf when absent"}},
       "Scores where a bool mask is true (= attend); a float mask is added.",
       buildMask},
      {"layer_norm",
       1,
       1,
       "x",
       "f",
       {{"gamma", K::Tensor, true, "tensor [width]"},
        {"beta", K::Tensor, false, "tensor [width]"},
        {"eps", K::Number, false, "1e-5 when absent"}},
       "(x - mean) / sqrt(variance + eps) * gamma + beta over the last dim.",
       buildNorm},
      {"rms_norm",
       1,
       1,
       "x",
       "f",
       {{"gamma", K::Tensor, true, "tensor [width]"},
        {"eps", K::Number, false, "1e-5 when absent"}},
       "x / sqrt(mean(x^2) + eps) * gamma over the last dim.",
       buildNorm},
  };
}
