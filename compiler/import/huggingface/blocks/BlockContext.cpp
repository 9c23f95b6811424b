// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Projections use the file's orientation and, if several are stored as one,
// slices; each is a separate matmul, and passes merge matmuls with a common
// input.
#include "compiler/import/huggingface/blocks/Blocks.h"
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"

using namespace mlir;
using namespace transom;

static ModuleNaming getNaming(const ModelFamily &family, const FamilyHead &head,
                              const ModelConfig &config) {
  const FamilyModules &m = family.modules;
  std::vector<std::string> words = {m.word}, tensors;
  words.insert(words.end(), m.sharedWord.begin(), m.sharedWord.end());
  for (const std::string &word : words)
    tensors.push_back(word + ".weight");
  ModuleNaming naming = {family.prefix,
                         {m.embeddings, m.position, m.embeddingNorm,
                          m.projectIn, m.projectOut, m.rope, m.relativeBias,
                          m.relativePositions, m.convolution, m.layer,
                          m.finalNorm, m.pooler},
                         tensors,
                         head.isBare(),
                         config.adapter};
  naming.baseModules.insert(naming.baseModules.end(), words.begin(),
                            words.end());
  return naming;
}

BlockContext::BlockContext(Emitter &emit, const ModelFiles &files,
                           const ModelFamily &family, const FamilyHead &head,
                           const ModelConfig &config)
    : emit(emit), files(files), family(family), head(head), config(config),
      parameters(emit, files, getNaming(family, head, config)) {}

std::string BlockContext::layerName(int64_t number) const {
  const LayerConfig &layer = config.layers[number];
  std::string name = family.modules.layer;
  name.replace(name.find("{i}"), 3, std::to_string(layer.module));
  if (size_t place = name.find("{inner}"); place != std::string::npos)
    name.replace(place, 7, std::to_string(layer.inner));
  return name;
}

/// Returns the module with the head's own table, or null.
static const char *findHeadTable(const FamilyHead &head) {
  for (const HeadResult &result : head.results)
    for (const HeadStep &step : result.steps)
      if (step.kind == HeadStep::Kind::Vocabulary)
        return step.module;
  return nullptr;
}

std::string BlockContext::getWordModule() const {
  const FamilyModules &m = family.modules;
  if (parameters.has(m.word, "weight"))
    return m.word;
  if (config.sharedWord)
    for (const char *shared : m.sharedWord)
      if (parameters.has(shared, "weight"))
        return shared;
  // Files may store a tied table only under the head's name. An encoder's table
  // is tied to the head if it is shared.
  const char *table = findHeadTable(head);
  bool tied =
      config.tied && (config.sharedWord || family.kind == ModelKind::Decoder);
  if (tied && table && parameters.has(table, "weight"))
    return table;
  return config.sharedWord && !m.sharedWord.empty() ? m.sharedWord.front()
                                                    : m.word;
}

int64_t BlockContext::getWidth(Value value) const {
  return emit.failed() ? 1 : *emit.getShape(value).back().constant();
}

Dims BlockContext::tokensBy(std::initializer_list<Polynomial> sizes) const {
  Dims dims = tokens;
  dims.append(sizes.begin(), sizes.end());
  return dims;
}

std::string BlockContext::getWidthWords(int64_t width) const {
  return width == config.hidden           ? "hidden size"
         : width == config.embeddingWidth ? "embedding size"
                                          : "";
}

std::string BlockContext::getQueryWords() const {
  return config.ownHeadDim ? "heads * head size" : "hidden size";
}

std::string BlockContext::getKeyWords() const {
  if (!config.ownKvHeads)
    return getQueryWords();
  return config.ownHeadDim ? "key-value heads * head size"
                           : "key-value heads * hidden size / heads";
}

std::string BlockContext::getQkvWords() const {
  return config.ownKvHeads ? getQueryWords() + " + 2 * " + getKeyWords()
                           : "3 * " + getQueryWords();
}

Value BlockContext::project(Value input, const std::string &module,
                            int64_t width, bool bias, const std::string &words,
                            const std::string &from) {
  const int64_t in = getWidth(input);
  Value weight;
  if (isTransposed(module))
    weight = parameters.getDerived(
        module, "weight", {in, width}, from + " x " + words, "^T",
        [](WeightExpr file) { return WeightExpr::transpose(file, {1, 0}); });
  else
    weight =
        parameters.get(module, "weight", {width, in}, words + " x " + from);
  const char *name = getBiasName(module, bias);
  return emit.linear(input, weight,
                     name ? parameters.get(module, name, {width}, words)
                          : Value());
}

const char *BlockContext::getBiasName(const std::string &module,
                                      bool bias) const {
  if (bias)
    return "bias";
  return parameters.has(module, adapterBias) ? adapterBias : nullptr;
}

Value BlockContext::projectSlice(Value input, const std::string &module,
                                 int64_t all, int64_t start, int64_t count,
                                 bool bias, const std::string &words,
                                 const char *suffix) {
  const bool transposed = isTransposed(module);
  std::vector<int64_t> shape = {all, getWidth(input)};
  std::string sizes = words + " x " + getWords(input);
  if (transposed) {
    std::swap(shape[0], shape[1]);
    sizes = getWords(input) + " x " + words;
  }
  auto slice = [&](WeightExpr file) {
    return WeightExpr::slice(std::move(file), 0, start, count);
  };
  Value weight = parameters.getDerived(
      module, "weight", shape, sizes, suffix, [&](WeightExpr file) {
        return slice(transposed ? WeightExpr::transpose(file, {1, 0}) : file);
      });
  const char *name = getBiasName(module, bias);
  Value addend =
      name ? parameters.getDerived(module, name, {all}, words, suffix, slice)
           : Value();
  return emit.linear(input, weight, addend);
}

Value BlockContext::normalize(Value input, const std::string &module) {
  return normalize(input, module, family.normKind);
}

Value BlockContext::normalizeOuter(Value input, const std::string &module) {
  return normalize(input, module,
                   family.outerNormKind.value_or(family.normKind));
}

Value BlockContext::normalize(Value input, const std::string &module,
                              NormKind kind) {
  if (emit.failed())
    return {};
  at(module, family.keys.epsilon);
  std::vector<int64_t> shape = {getWidth(input)};
  const std::string sizes = getWidthWords(shape[0]);
  const WeightExpr ones = WeightExpr::fill(shape, 1);
  if (!config.normsHaveWeights)
    return emit.layerNorm(
        input, emit.weight(parameters.getModulePath(module) + ".ones", ones),
        Value(), config.epsilon);
  Value gamma =
      kind == NormKind::RmsOnePlus
          ? parameters.getDerived(
                module, "weight", shape, sizes, "+1",
                [&](WeightExpr file) { return WeightExpr::add(file, ones); })
          : parameters.get(module, "weight", shape, sizes);
  if (kind != NormKind::Layer)
    return emit.rmsNorm(input, gamma, config.epsilon);
  Value beta =
      config.normBias ? parameters.get(module, "bias", shape, sizes) : Value();
  return emit.layerNorm(input, gamma, beta, config.epsilon);
}

Value BlockContext::activate(Value input, std::optional<Activation> kind) {
  return kind ? emit.activation(input, *kind) : input;
}

Value BlockContext::add(Value a, Value b, const std::string &module) {
  at(module, family.keys.layers);
  return emit.add(a, b);
}
