// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer: attention, optionally attention to an encoder, and MLP, each with a
// residual sum and its norms.
#include "compiler/import/huggingface/blocks/Blocks.h"

using namespace mlir;
using namespace transom;

/// Adds a result to a residual.
Value LayerBlock::addTo(Value residual, Value result,
                        const std::string &module) {
  double scale = context.config.residualScale;
  if (scale != 1) {
    context.at(module, context.family.keys.residualScale);
    result = context.emit.scale(result, scale);
  }
  return context.add(result, residual, module);
}

/// Attention and MLP read the same state, and both results are added to it.
Value LayerBlock::parallel(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  const std::string name = context.layerName(number), inside = name + ".";
  bool shared = context.config.parallelNorms == 1;
  Value input = context.normalize(
      state,
      inside + (shared && *m.parallelNorm ? m.parallelNorm : m.attentionNorm));
  Value sum = addTo(state, attention.build(input, number), name);
  if (!shared)
    input = context.normalize(state, inside + m.mlpNorm);
  return addTo(sum, mlp.build(input, number), name);
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
    const char *secondNorm;
  };

  // norm -> compute -> result norm -> sum -> sum norm -> second sum and its
  // norm; a family has some of these.
  auto build = [&](const Sublayer &sublayer, auto compute) {
    Value input = before && sublayer.normalizesInput && *sublayer.norm
                      ? context.normalize(state, inside + sublayer.norm)
                      : state;
    Value residual = config.residualFromNorm ? input : state;
    Value result = compute(input);
    if (*sublayer.postNorm)
      result = context.normalize(result, inside + sublayer.postNorm);
    const std::string add = *sublayer.add ? inside + sublayer.add : name;
    state = addTo(residual, result, add);
    if (!before)
      state = context.normalize(state, inside + sublayer.norm);
    if (*sublayer.secondNorm)
      state = context.normalize(addTo(residual, state, add),
                                inside + sublayer.secondNorm);
  };
  build({m.attentionNorm, m.attentionPostNorm, m.attentionAdd,
         number > 0 || context.family.firstLayerNorm, m.attentionSecondNorm},
        [&](Value input) { return attention.build(input, number); });
  if (cross)
    build({m.crossNorm, "", m.crossAdd, true, ""},
          [&](Value input) { return cross->build(input, number); });
  if (context.emit.failed())
    return {};
  build({m.mlpNorm, m.mlpPostNorm, m.mlpAdd, true, ""},
        [&](Value input) { return mlp.build(input, number); });
  return state;
}
