// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cross attention: a source's keys and values are computed once, in a separate
// entry, and each decoder step reads them.
#include "compiler/import/huggingface/blocks/Blocks.h"
#include <limits>

using namespace mlir;
using namespace transom;

Value CrossAttentionBlock::project(Value state, int64_t layer,
                                   const char *module) {
  const ModelConfig &config = context.config;
  const std::string name = context.layerPrefix(layer) + module;
  context.at(name, context.family.keys.hidden);
  return context.project(state, name, config.heads * config.headDim,
                         config.qkvBias, context.getQueryWords());
}

Value CrossAttentionBlock::getCache(int64_t layer) {
  const ModelConfig &config = context.config;
  const std::string module =
      context.layerPrefix(layer) + context.family.modules.crossAttention;
  context.at(module, context.family.keys.heads);
  auto type = attn::CacheType::get(
      context.emit.ops().getContext(), config.heads, config.headDim,
      config.headDim, /*window=*/0,
      positions.value_or(std::numeric_limits<int32_t>::max()));
  if (caches[layer].empty())
    caches[layer] = context.emit.declareCache(
        context.parameters.getModulePath(module), type);
  return context.emit.getCache(caches[layer], type);
}

Value CrossAttentionBlock::append(Value states, Value ragged, int64_t layer) {
  const FamilyModules &m = context.family.modules;
  Value key = project(states, layer, m.crossKey);
  Value value = project(states, layer, m.crossValue);
  Value cache = getCache(layer);
  return context.emit.make<attn::AppendOp>(states, key, value, ragged, cache);
}

Value CrossAttentionBlock::build(Value state, int64_t layer) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  Value query = project(state, layer, m.crossQuery);
  Value cache = getCache(layer);
  Value mixed = context.emit.make<attn::CrossSdpaOp>(
      query, context.ragged, cache, uint64_t(config.heads),
      llvm::APFloat(config.layers[layer].scale),
      llvm::APFloat(config.attentionCap));
  const std::string output = context.layerPrefix(layer) + m.crossOutput;
  context.at(output, context.family.keys.hidden);
  return context.project(mixed, output, config.hidden, config.outputBias,
                         "hidden size", context.getQueryWords());
}
