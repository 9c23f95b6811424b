// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is a matmul with the concatenated columns around each token.
// Its weight is stored as [out, in per group, columns].
#include "compiler/import/huggingface/blocks/Blocks.h"

using namespace mlir;
using namespace transom;

/// Returns the equivalent matmul weight, [hidden, columns * hidden]; elements
/// in other groups are zero.
static WeightExpr joinGroups(const WeightExpr &file, int64_t hidden,
                             const Convolution &convolution) {
  const int64_t width = hidden / convolution.groups, size = convolution.size;
  std::vector<WeightExpr> rows;
  for (int64_t group = 0; group < convolution.groups; ++group) {
    const int64_t before = group * width, after = hidden - before - width;
    std::vector<WeightExpr> columns;
    if (before)
      columns.push_back(WeightExpr::fill({width, size, before}, 0));
    columns.push_back(WeightExpr::transpose(
        WeightExpr::slice(file, 0, before, width), {0, 2, 1}));
    if (after)
      columns.push_back(WeightExpr::fill({width, size, after}, 0));
    rows.push_back(WeightExpr::concat(2, std::move(columns)));
  }
  return WeightExpr::reshape(WeightExpr::concat(0, std::move(rows)),
                             {hidden, size * hidden});
}

Value ConvolutionBlock::build(Value state, Value embedding) {
  const FamilyModules &m = context.family.modules;
  const FamilyKeys &keys = context.family.keys;
  const ModelConfig &config = context.config;
  const Convolution &convolution = config.convolution;
  Emitter &emit = context.emit;
  const std::string module = m.convolution;
  context.at(module, keys.convolution);
  Value neighbors = emit.make<attn::NeighborsOp>(
      embedding, context.visible, Value(), uint64_t(convolution.size / 2));
  Value weight = context.parameters.getDerived(
      module, "weight",
      {config.hidden, config.hidden / convolution.groups, convolution.size},
      "hidden size x hidden size of a group x columns", ".joined",
      [&](WeightExpr file) {
        return joinGroups(file, config.hidden, convolution);
      });
  Value bias =
      context.parameters.get(module, "bias", {config.hidden}, "hidden size");
  Value sum = emit.linear(neighbors, weight, bias);
  context.at(module, keys.convolutionActivation);
  sum = emit.add(state, context.activate(sum, convolution.activation));
  return context.normalize(sum, m.convolutionNorm);
}
