// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer: attention, perhaps attention to an encoder, and MLP, each with a
// residual sum and its norms.
#include "compiler/import/huggingface/blocks/Blocks.h"

using namespace mlir;
using namespace transom;

/// Attention and MLP read the same state, and both are added to it.
Value LayerBlock::parallel(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  const std::string name = context.layerName(number), inside = name + ".";
  Value mixed = attention.build(
      context.normalize(state, inside + m.attentionNorm), number);
  Value sum = context.add(mixed, state, name);
  Value wide = mlp.build(context.normalize(state, inside + m.mlpNorm), number);
  return context.add(wide, sum, name);
}

Value LayerBlock::build(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  if (config.parallelResidual)
    return parallel(state, number);
  const std::string name = context.layerName(number), inside = name + ".";
  bool before = config.normPlacement == NormPlacement::Pre;
  struct Sublayer {
    const char *norm, *postNorm, *add;
    bool normalizesInput;
  };

  // norm -> compute -> norm of the result -> sum -> norm of the sum, of which a
  // family has some.
  auto build = [&](const Sublayer &sublayer, auto compute) {
    Value input = before && sublayer.normalizesInput
                      ? context.normalize(state, inside + sublayer.norm)
                      : state;
    Value residual = config.residualFromNorm ? input : state;
    Value result = compute(input);
    if (*sublayer.postNorm)
      result = context.normalize(result, inside + sublayer.postNorm);
    state = context.add(result, residual,
                        *sublayer.add ? inside + sublayer.add : name);
    if (!before)
      state = context.normalize(state, inside + sublayer.norm);
  };
  build({m.attentionNorm, m.attentionPostNorm, m.attentionAdd,
         number > 0 || context.family.firstLayerNorm},
        [&](Value input) { return attention.build(input, number); });
  if (cross)
    build({m.crossNorm, "", m.crossAdd, true},
          [&](Value input) { return cross->build(input, number); });
  if (context.emit.failed())
    return {};
  build({m.mlpNorm, m.mlpPostNorm, m.mlpAdd, true},
        [&](Value input) { return mlp.build(input, number); });
  return state;
}
