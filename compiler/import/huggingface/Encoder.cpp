// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An encoder, spelt as the eager attention of transformers spells it; fusing
// is the passes' work.
#include "compiler/import/huggingface/Encoder.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace transom;

static ModuleNaming namingOf(const Family &family, const FamilyHead &head) {
  const FamilyModules &m = family.modules;
  return {family.prefix,
          {m.embeddings, m.layer, m.pooler},
          std::string(m.word) + ".weight",
          std::string(head.kind) == "none"};
}

EncoderBuilder::EncoderBuilder(Emitter &emit, const ModelFiles &files,
                               const Family &family, const FamilyHead &head,
                               const ModelSizes &sizes)
    : emit(emit), files(files), family(family), theHead(head), sizes(sizes),
      parameters(emit, files, namingOf(family, head)) {}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Value EncoderBuilder::project(Value input, const std::string &module,
                              int64_t from, int64_t to,
                              const std::string &sizes) {
  Value weight = parameters.get(module, "weight", {to, from}, sizes);
  Value bias = parameters.get(module, "bias", {to}, "");
  return emit.linear(input, weight, bias);
}

Value EncoderBuilder::activate(Value input,
                               std::optional<attn::ActivationKind> kind) {
  return kind ? emit.activation(input, *kind) : input;
}

Value EncoderBuilder::normalize(Value input, const std::string &module) {
  at(module, family.keys.epsilon);
  Value gamma = parameters.get(module, "weight", {sizes.hidden}, "hidden size");
  Value beta = parameters.get(module, "bias", {sizes.hidden}, "hidden size");
  return emit.layerNorm(input, gamma, beta, sizes.epsilon);
}

//===----------------------------------------------------------------------===//
// The base model
//===----------------------------------------------------------------------===//

Value EncoderBuilder::embeddings(Value ids, Value types) {
  const FamilyModules &m = family.modules;
  auto table = [&](const char *module, int64_t rows, const char *what) {
    return parameters.get(module, "weight", {rows, sizes.hidden},
                          std::string(what) + " x hidden size");
  };
  auto lookUp = [&](Value indices, Value rows) {
    return emit.embedding(indices, rows, 1.0);
  };
  at(m.word, std::string("/vocab_size"));
  Value sum = lookUp(ids, table(m.word, sizes.vocab, "vocabulary"));
  if (sizes.types) {
    at(m.type, family.keys.types);
    Value kinds = lookUp(types, table(m.type, sizes.types, "token types"));
    at(m.embeddings, family.keys.types);
    sum = emit.add(sum, kinds);
  }
  at(m.position, family.keys.positions);
  bool ranks = family.positions == PositionRule::NonpadRank;
  Value columns = emit.make<attn::PositionOp>(
      ids, Value(),
      ranks ? attn::PositionKind::NonpadRank : attn::PositionKind::Column,
      uint64_t(ranks ? sizes.pad : 0));
  Value places = lookUp(
      columns, table(m.position, sizes.positions, "max_position_embeddings"));
  at(m.embeddings, family.keys.positions);
  return normalize(emit.add(sum, places), m.embeddingNorm);
}

Value EncoderBuilder::splitHeads(Value projected) {
  Value split = emit.reshape(
      projected, {batch, seq, sizes.heads, sizes.hidden / sizes.heads});
  return emit.transpose(split, {0, 2, 1, 3});
}

Value EncoderBuilder::attention(Value state, const std::string &layer) {
  const FamilyModules &m = family.modules;
  auto heads = [&](const char *module) {
    at(layer + module, family.keys.hidden);
    Value all = project(state, layer + module, sizes.hidden, sizes.hidden,
                        "hidden size x hidden size");
    at(layer + m.attention, family.keys.heads);
    return splitHeads(all);
  };
  Value query = heads(m.query), key = heads(m.key), value = heads(m.value);
  double width = static_cast<double>(sizes.hidden / sizes.heads);
  Value scores =
      emit.scale(emit.matmul(query, key, false, true), 1.0 / std::sqrt(width));
  scores = emit.mask(scores, keyMask, -std::numeric_limits<double>::infinity());
  Value mixed = emit.matmul(emit.softmax(scores), value, false, false);
  return emit.reshape(emit.transpose(mixed, {0, 2, 1, 3}),
                      {batch, seq, sizes.hidden});
}

Value EncoderBuilder::layer(Value state, int64_t number) {
  const FamilyModules &m = family.modules;
  std::string name = m.layer;
  name.replace(name.find("{i}"), 3, std::to_string(number));
  auto sumPlace = [&](const char *part) {
    at(*part ? name + "." + part : name, family.keys.layers);
  };
  const std::string inside = name + ".";
  Value mixed = attention(state, inside);
  at(inside + m.attentionOut, family.keys.hidden);
  mixed = project(mixed, inside + m.attentionOut, sizes.hidden, sizes.hidden,
                  "hidden size x hidden size");
  sumPlace(m.attentionAdd);
  Value middle = normalize(emit.add(mixed, state), inside + m.attentionNorm);
  at(inside + m.up, family.keys.intermediate);
  Value wide = project(middle, inside + m.up, sizes.hidden, sizes.intermediate,
                       "intermediate size x hidden size");
  at(inside + m.activation, family.keys.activation);
  wide = activate(wide, sizes.activation);
  at(inside + m.down, family.keys.intermediate);
  Value narrow = project(wide, inside + m.down, sizes.intermediate,
                         sizes.hidden, "hidden size x intermediate size");
  sumPlace(m.outputAdd);
  return normalize(emit.add(narrow, middle), inside + m.outputNorm);
}

//===----------------------------------------------------------------------===//
// Heads and results
//===----------------------------------------------------------------------===//

bool EncoderBuilder::hasPooler() const {
  const std::string pooler = family.modules.pooler;
  if (pooler.empty())
    return false;
  // Without files the bare model has one, as its class does.
  return emit.assumesTensors() ? std::string(theHead.kind) == "none"
                               : parameters.has(pooler + ".dense", "weight");
}

static Value firstColumn(Emitter &emit, Value state) {
  return emit.make<attn::PoolOp>(state, Value(), Value(), attn::PoolKind::First,
                                 StringAttr());
}

Value EncoderBuilder::pooler(Value state) {
  if (pooled || emit.failed())
    return pooled;
  const std::string pooler = family.modules.pooler;
  at(pooler, std::string("/architectures"));
  Value first = firstColumn(emit, state);
  at(pooler + ".dense", family.keys.hidden);
  Value dense = project(first, pooler + ".dense", sizes.hidden, sizes.hidden,
                        "hidden size x hidden size");
  at(pooler + ".activation", std::string("/architectures"));
  pooled = emit.activation(dense, attn::ActivationKind::Tanh);
  return pooled;
}

Value EncoderBuilder::decoder(const HeadStep &step, Value state) {
  bool own = parameters.has(step.module, "weight") || !sizes.tied;
  const std::string from = own ? step.module : family.modules.word;
  Value weight = parameters.get(from, "weight", {sizes.vocab, sizes.hidden},
                                "vocabulary x hidden size");
  std::string bias = step.biases.front();
  for (const char *candidate : step.biases)
    if (files.find(candidate)) {
      bias = candidate;
      break;
    }
  return emit.linear(state, weight,
                     emit.fileWeight(std::string(step.module) + ".bias", bias,
                                     std::vector<int64_t>{sizes.vocab},
                                     "vocabulary"));
}

Value EncoderBuilder::step(const HeadStep &step, Value state,
                           Value lastHidden) {
  const std::string asked = "/architectures";
  switch (step.kind) {
  case HeadStep::Kind::First:
    return firstColumn(emit, state);
  case HeadStep::Kind::Pooler:
    return pooler(lastHidden);
  case HeadStep::Kind::Activation:
    return step.activation
               ? activate(state, activationNamed(step.activation).kind)
               : activate(state, sizes.activation);
  case HeadStep::Kind::Norm:
    return normalize(state, step.module);
  case HeadStep::Kind::Decoder:
    at(step.module, std::string("/vocab_size"));
    return decoder(step, state);
  case HeadStep::Kind::Linear:
    break;
  }
  bool labels = step.width == HeadStep::Width::Labels;
  at(step.module, labels ? std::string("/id2label") : asked);
  int64_t to = labels                               ? sizes.labels
               : step.width == HeadStep::Width::Two ? 2
                                                    : sizes.hidden;
  return project(state, step.module, sizes.hidden, to,
                 labels ? "labels x hidden size" : "");
}

Value EncoderBuilder::zeroPadding(Value result, const std::string &place) {
  if (emit.failed() || emit.shapeOf(result).size() != 3)
    return result;
  emit.at(place, "/architectures");
  return emit.mask(result, emit.reshape(visible, {batch, seq, 1}), 0.0);
}

Value EncoderBuilder::head(const HeadResult &result, Value state) {
  Value value = state;
  for (const HeadStep &each : result.steps) {
    if (each.kind == HeadStep::Kind::First)
      at(std::string(result.name), std::string("/architectures"));
    value = step(each, value, state);
  }
  return zeroPadding(value, result.name);
}

void EncoderBuilder::build() {
  EntryInput ids{"input_ids", DType::I64, {batch, seq}, "ids", sizes.vocab, {}};
  EntryInput mask{"attention_mask", DType::I64, {batch, seq}, "mask", {}, 1};
  EntryInput types{"token_type_ids", DType::I64, {batch, seq}, "ids",
                   sizes.types,      0};
  std::vector<EntryInput> inputs = {ids, mask};
  if (sizes.types)
    inputs.push_back(types);
  emit.at("encode", "/model_type");
  SmallVector<Value> arguments = emit.beginEntry("encode", inputs);
  emit.at("attention_mask", "/model_type");
  visible = emit.cast(arguments[1], DType::Bool);
  keyMask = emit.reshape(visible, {batch, 1, 1, seq});

  Value state = embeddings(arguments[0], sizes.types ? arguments[2] : Value());
  for (int64_t i = 0; i < sizes.layers && !emit.failed(); ++i)
    state = layer(state, i);

  std::vector<EntryOutput> results;
  for (const HeadResult &result : theHead.results)
    results.push_back({result.name, head(result, state)});
  if (hasPooler())
    results.push_back({"pooler_output", pooler(state)});
  emit.at("encode", "/architectures");
  emit.endEntry(results);
}
