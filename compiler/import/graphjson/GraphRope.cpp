// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json rotary positions: frequencies by width and base.
#include "compiler/import/graphjson/GraphOpGroups.h"
#include <cmath>

using namespace mlir;
using namespace transom;
using graph::maxConstant;
using graph::Values;
using K = AttrKind;

/// Returns the frequencies listed in a rope table, or computed from its width
/// and base (Su et al. 2021, 3.2.2).
static std::vector<double> readFrequencies(OpCall &call) {
  bool listed = call.has("frequencies");
  if (listed == call.has("width")) {
    call.fail("op 'rotation' needs 'width' or 'frequencies'");
    return {};
  }
  if (listed) {
    std::vector<double> frequencies = call.numbers("frequencies");
    if (frequencies.empty() || frequencies.size() > maxConstant)
      call.fail("'frequencies' needs 1 to " + std::to_string(maxConstant) +
                " numbers");
    return frequencies;
  }
  int64_t width = call.integer("width", 2, 2, maxConstant);
  double theta = call.number("theta", 10000);
  if (!call.emit.failed() && (width % 2 || !(theta > 0)))
    call.fail("op 'rotation' needs an even 'width' and a 'theta' above 0");
  std::vector<double> frequencies;
  for (int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(std::pow(theta, -2.0 * static_cast<double>(i) /
                                              static_cast<double>(width)));
  return frequencies;
}

static Values buildRopeTable(OpCall &call) {
  std::vector<double> frequencies = readFrequencies(call);
  int64_t positions = call.integer("positions", 1, 1, 1 << 24);
  double factor = call.number("factor", 1);
  OpBuilder &ops = call.emit.ops();
  Value table = call.emit.make<attn::RopeTableOp>(
      call.inputs[0], ops.getDenseF64ArrayAttr(frequencies),
      ops.getF64FloatAttr(factor), ops.getI64IntegerAttr(positions));
  if (table)
    boundIndices(call, call.inputs[0], positions);
  return {table};
}

static Values buildRope(OpCall &call) {
  return {call.emit.make<attn::RopeOp>(
      call.inputs[0], call.inputs[1],
      uint64_t(call.integer("heads", 1, 1, INT32_MAX)),
      call.flag("interleaved"))};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::vector<GraphOp> graph::getRopeOps() {
  return {
      {"rotation",
       1,
       1,
       "positions",
       "i",
       {{"positions", K::Integer, true, "all positions are below this"},
        {"width", K::Integer, false,
         "numbers of a head that are turned, 2n: n frequencies theta^(-2i/2n)"},
        {"theta", K::Number, false, "1e4 when absent"},
        {"frequencies", K::Numbers, false, "instead of width and theta"},
        {"factor", K::Number, false, "on cosines and sines, 1 when absent"}},
       "For each position the cosines of its product with n frequencies, then "
       "the sines: [..., 2n].",
       buildRopeTable},
      {"rotary",
       2,
       2,
       "x, rotation",
       "f",
       {{"heads", K::Integer, true, "heads of x [..., heads*d]"},
        {"interleaved", K::Flag, false,
         "pairs are numbers 2i and 2i+1 of a head, instead of i and i+n"}},
       "Turns the first 2n numbers of each head, pair by pair, by a rotation "
       "[..., 2n] of the same rows.",
       buildRope},
  };
}
