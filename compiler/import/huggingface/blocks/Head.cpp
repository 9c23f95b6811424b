// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the steps of a family's head from the last hidden state.
#include "compiler/import/huggingface/blocks/Blocks.h"
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"

using namespace mlir;
using namespace transom;

static const std::string headPointer = "/architectures";

//===----------------------------------------------------------------------===//
// The base model's end
//===----------------------------------------------------------------------===//

Value HeadBlock::finish(Value state) {
  const FamilyModules &m = context.family.modules;
  const ModelConfig &config = context.config;
  if (config.finalNorm)
    state = context.normalizeOuter(state, m.finalNorm);
  if (*m.projectOut && config.embeddingWidth != config.hidden) {
    context.at(m.projectOut, context.family.keys.embeddingWidth);
    state = context.project(state, m.projectOut, config.embeddingWidth, false,
                            "embedding size");
  }
  return state;
}

bool HeadBlock::hasPooler() const {
  const std::string pooler = context.family.modules.pooler;
  if (pooler.empty())
    return false;
  // Without files the bare model has one, as its class does.
  return context.emit.assumesTensors()
             ? context.head.isBare()
             : context.parameters.has(context.family.modules.poolerDense,
                                      "weight");
}

static Value firstColumn(Emitter &emit, Value state) {
  return emit.make<attn::PoolOp>(state, Value(), Value(), attn::PoolKind::First,
                                 attn::SizeAttr());
}

Value HeadBlock::pooler(Value state) {
  if (pooled || context.emit.failed())
    return pooled;
  const std::string pooler = context.family.modules.pooler;
  const char *module = context.family.modules.poolerDense;
  context.at(pooler, headPointer);
  Value first = firstColumn(context.emit, state);
  context.at(module, context.family.keys.hidden);
  Value dense = context.project(first, module, context.config.hidden, true,
                                "hidden size");
  context.at(pooler + ".activation", headPointer);
  pooled = context.emit.activation(dense, Activation::Tanh);
  return pooled;
}

/// Pools hidden states as configured.
Value HeadBlock::pool(Value state) {
  switch (context.config.pooling) {
  case Pooling::First:
    return firstColumn(context.emit, state);
  case Pooling::Mean:
    return mean(state);
  case Pooling::Late:
    return state;
  }
  return {};
}

Value HeadBlock::mean(Value values) {
  return context.emit.make<attn::PoolOp>(
      values, context.visible, Value(), attn::PoolKind::Mean, attn::SizeAttr());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Value HeadBlock::linear(const HeadStep &step, Value state) {
  const ModelConfig &config = context.config;
  bool labels = step.width == HeadStep::Width::Labels;
  context.at(step.module, labels ? std::string("/id2label") : headPointer);
  // Determine the output width and its description in errors.
  int64_t width = config.hidden;
  std::string words = "hidden size";
  if (labels) {
    width = config.labels;
    words = "labels";
  } else if (step.width == HeadStep::Width::One) {
    width = 1;
    words = "1";
  } else if (step.width == HeadStep::Width::Two) {
    width = 2;
    words = "2";
  } else if (step.width == HeadStep::Width::Embedding) {
    width = config.embeddingWidth;
    words = context.getWidthWords(width);
  }
  // Project, to a single column if requested.
  bool bias = step.bias == HeadStep::Bias::AsConfig
                  ? config.headBias
                  : step.bias == HeadStep::Bias::Yes;
  if (step.kind == HeadStep::Kind::Column)
    return context.projectSlice(state, step.module, width, step.column, 1, bias,
                                words,
                                ("." + std::to_string(step.column)).c_str());
  return context.project(state, step.module, width, bias, words);
}

Value HeadBlock::vocabularyBias(const HeadStep &step,
                                const std::string &module) {
  if (step.bias == HeadStep::Bias::No || !context.config.vocabularyBias)
    return {};
  const int64_t width = context.config.vocab;
  std::string bias = step.biases.front();
  if (step.bias == HeadStep::Bias::StoredRow) {
    if (!context.files.find(bias) ||
        !context.emit.checkTensor(bias, std::vector<int64_t>{1, width},
                                  "1 x vocabulary"))
      return {};
    return context.emit.weight(
        bias + getChosenSuffix(),
        chooseRows(WeightExpr::reshape(WeightExpr::file(bias), {width})));
  }
  for (const char *candidate : step.biases)
    if (context.files.find(candidate)) {
      bias = candidate;
      break;
    }
  if (chosen.empty())
    return context.emit.fileWeight(module + ".bias", bias,
                                   std::vector<int64_t>{width}, "vocabulary");
  if (!context.emit.checkTensor(bias, std::vector<int64_t>{width},
                                "vocabulary"))
    return {};
  return context.emit.weight(bias + getChosenSuffix(),
                             chooseRows(WeightExpr::file(bias)));
}

/// Selects the rows for the chosen tokens, in their order.
WeightExpr HeadBlock::chooseRows(WeightExpr table) const {
  if (chosen.empty())
    return table;
  std::vector<WeightExpr> rows;
  for (const int64_t id : chosen)
    rows.push_back(WeightExpr::slice(table, 0, id, 1));
  return rows.size() == 1 ? rows.front() : WeightExpr::concat(0, rows);
}

std::string HeadBlock::getChosenSuffix() const {
  std::string suffix;
  for (const int64_t id : chosen)
    suffix += "." + std::to_string(id);
  return suffix;
}

/// Returns the embedding module whose weight the head shares: an
/// encoder-decoder's shared one takes precedence over its decoder's.
std::string HeadBlock::getTiedModule() const {
  const FamilyModules &m = context.family.modules;
  if (context.config.sharedWord && !m.sharedWord.empty() &&
      context.parameters.has(m.sharedWord.front(), "weight"))
    return m.sharedWord.front();
  return context.getWordModule();
}

/// Projects with the head's own weight, by one of its names, or the token
/// embedding.
Value HeadBlock::vocabulary(const HeadStep &step, Value state) {
  const ModelConfig &config = context.config;
  std::string module = step.module;
  bool own = !config.tied;
  std::vector<const char *> names = {step.module};
  names.insert(names.end(), step.otherModules.begin(), step.otherModules.end());
  for (const char *name : names)
    if (context.parameters.has(name, "weight")) {
      module = name;
      own = true;
      break;
    }
  vocabularyModule = module;
  context.at(module, std::string("/vocab_size"));
  const std::string stored = own ? module : getTiedModule();
  const std::vector<int64_t> shape = {config.vocab, config.embeddingWidth};
  const std::string sizes =
      "vocabulary x " + context.getWidthWords(config.embeddingWidth);
  Value weight =
      chosen.empty()
          ? context.parameters.get(stored, "weight", shape, sizes)
          : context.parameters.getDerived(
                stored, "weight", shape, sizes, getChosenSuffix(),
                [&](WeightExpr table) { return chooseRows(std::move(table)); });
  return context.emit.linear(
      state, weight, withAdapterBias(vocabularyBias(step, module), module));
}

Value HeadBlock::withAdapterBias(Value bias, const std::string &module) {
  Emitter &emit = context.emit;
  if (emit.failed() || !context.parameters.has(module, adapterBias))
    return bias;
  std::optional<WeightExpr> own;
  if (bias)
    own = emit.getWeightExpr(bias);
  return context.parameters.getDerived(
      module, adapterBias, {context.config.vocab}, "vocabulary",
      getChosenSuffix(), [&](WeightExpr added) {
        const WeightExpr rows = chooseRows(std::move(added));
        return own ? WeightExpr::add(*own, rows) : rows;
      });
}

/// cap * tanh(logits / cap).
Value HeadBlock::cap(Value logits) {
  double cap = context.config.logitCap;
  if (cap == 0)
    return logits;
  Emitter &emit = context.emit;
  context.at(vocabularyModule, context.family.keys.logitCap);
  Value flat = emit.activation(emit.scale(logits, 1 / cap), Activation::Tanh);
  return emit.scale(flat, cap);
}

Value HeadBlock::scale(Value state) {
  const FamilyKeys &keys = context.family.keys;
  if (context.config.headScale == 1)
    return state;
  const ConfigKey *asked = &keys.scaledHead;
  for (const ConfigKey *key : {&keys.logitScale, &keys.logitDivisor})
    if (!key->empty())
      asked = key;
  context.at("lm_head", *asked);
  return context.emit.scale(state, context.config.headScale);
}

Value HeadBlock::step(const HeadStep &step, Value state, Value lastHidden) {
  switch (step.kind) {
  case HeadStep::Kind::First:
    return firstColumn(context.emit, state);
  case HeadStep::Kind::Pool:
    return pool(state);
  case HeadStep::Kind::PoolLate:
    return context.config.pooling == Pooling::Late ? mean(state) : state;
  case HeadStep::Kind::Pooler:
    return pooler(lastHidden);
  case HeadStep::Kind::Activation:
    return context.activate(state, step.activation
                                       ? activationNamed(step.activation).kind
                                       : context.config.headActivation);
  case HeadStep::Kind::PoolerActivation:
    return context.activate(state, context.config.poolerActivation);
  case HeadStep::Kind::Norm:
    return context.normalizeOuter(state, step.module);
  case HeadStep::Kind::Linear:
  case HeadStep::Kind::Column:
    return linear(step, state);
  case HeadStep::Kind::Vocabulary:
    return vocabulary(step, state);
  case HeadStep::Kind::Cap:
    return cap(state);
  case HeadStep::Kind::Scale:
    return scale(state);
  }
  return {};
}

Value HeadBlock::build(const HeadResult &result, Value state) {
  Value value = state;
  for (const HeadStep &each : result.steps) {
    if (each.kind == HeadStep::Kind::First ||
        each.kind == HeadStep::Kind::Pool ||
        each.kind == HeadStep::Kind::PoolLate)
      context.at(result.name, headPointer);
    value = step(each, value, state);
  }
  return value;
}
