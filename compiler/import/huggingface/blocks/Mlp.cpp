// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer's MLP, plain or as a GLU (Shazeer 2020).
#include "compiler/import/huggingface/blocks/Blocks.h"

using namespace mlir;
using namespace transom;

/// Returns the intermediate size, which files may have padded to a multiple.
int64_t MlpBlock::getWidth(const std::string &layer) const {
  const int64_t width = context.config.intermediate,
                multiple = context.family.mlpMultiple;
  const int64_t padded = (width + multiple - 1) / multiple * multiple;
  const std::string tensor = context.parameters.getTensorName(
      layer + context.family.modules.up, "weight");
  const SafetensorsTensor *found = context.files.find(tensor);
  return found && !found->shape.empty() && found->shape[0] == padded ? padded
                                                                     : width;
}

Value MlpBlock::glu(Value state, const std::string &layer) {
  const FamilyModules &m = context.family.modules;
  const FamilyKeys &keys = context.family.keys;
  const ModelConfig &config = context.config;
  bool stacked = config.mlp != MlpKind::Glu;
  int64_t width = getWidth(layer);
  int64_t gateStart = config.mlp == MlpKind::StackedUpGlu ? width : 0;
  const std::string size = "intermediate size";
  auto half = [&](int64_t start, const char *suffix) {
    return context.projectSlice(state, layer + m.up, 2 * width, start, width,
                                config.mlpBias, "2 * " + size, suffix);
  };
  context.at(layer + (stacked ? m.up : m.gate), keys.intermediate);
  Value gate = stacked ? half(gateStart, ".gate")
                       : context.project(state, layer + m.gate, width,
                                         config.mlpBias, size);
  context.at(layer + m.up, keys.intermediate);
  Value up = stacked ? half(width - gateStart, ".up")
                     : context.project(state, layer + m.up, width,
                                       config.mlpBias, size);
  context.at(layer + m.activation, keys.activation);
  Value active = context.activate(gate, config.activation);
  return context.emit.make<attn::MulOp>(active, up);
}

Value MlpBlock::build(Value state, int64_t number) {
  const FamilyModules &m = context.family.modules;
  const FamilyKeys &keys = context.family.keys;
  const ModelConfig &config = context.config;
  const std::string layer = context.layerPrefix(number);
  Value inner;
  if (config.mlp == MlpKind::Plain) {
    const std::string up = layer + (*m.plainUp ? m.plainUp : m.up);
    context.at(up, keys.intermediate);
    inner = context.project(state, up, config.intermediate, config.mlpBias,
                            "intermediate size");
    context.at(layer + m.activation, keys.activation);
    inner = context.activate(inner, config.activation);
  } else {
    inner = glu(state, layer);
  }
  context.at(layer + m.down, keys.intermediate);
  return context.project(inner, layer + m.down, config.hidden, config.downBias,
                         "hidden size", "intermediate size");
}
